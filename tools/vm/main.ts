/** `npm run vm -- [--as <who>] <command>`: runs a command on cgroup v2, in a virtual machine. See CONTRIBUTING.md. */
import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { defaultDataDir } from '../../src/data-dir.ts';
import { fetchParts, packInitramfs, run, type Parts } from './parts.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const DISK_BYTES = 20 * 2 ** 30;
const WHO = ['root', 'service', 'delegated', 'user'];
const USAGE = `npm run vm -- [--as ${WHO.join('|')}] [--memory-mb 6144] <command>`;

const argv = process.argv.slice(2);
const { values, tokens } = parseArgs({
  args: argv,
  options: { as: { type: 'string', default: 'root' }, 'memory-mb': { type: 'string', default: '6144' } },
  allowPositionals: true,
  strict: false, // what comes after the first word belongs to the command
  tokens: true,
});
const first = tokens.find(({ kind }) => kind === 'positional');
const command = first === undefined ? [] : argv.slice(first.index);

if (command.length === 0 || !WHO.includes(String(values.as))) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  process.exitCode = await main(command);
}

async function main(words: readonly string[]): Promise<number> {
  const data = defaultDataDir(process.env);
  const parts = await fetchParts(path.join(data, 'vm')).catch((error: Error) => error);
  if (parts instanceof Error) {
    console.error(`There is no virtual machine here: ${parts.message}`);
    return 1;
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'vivarium-vm-'));
  try {
    const programs = `${path.join(ROOT, 'node_modules/.bin')}:${path.dirname(process.execPath)}`;
    const line = `PATH=${quote(programs)}:$PATH ${words.map(quote).join(' ')}`;
    const job = { who: String(values.as), project: ROOT, data, command: line };
    const lines = Object.entries(job).map(([name, value]) => `${name}=${quote(value)}\n`);
    return await boot(parts, folder, packInitramfs(parts, folder, lines.join('')));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Resolves to the status of the command; 1 if the machine ended without one. */
async function boot({ kernel, modules }: Parts, folder: string, initramfs: string): Promise<number> {
  const [disk, status] = [path.join(folder, 'disk'), path.join(folder, 'status')];
  writeFileSync(disk, '');
  truncateSync(disk, DISK_BYTES);
  run('mke2fs', ['-q', '-t', 'ext4', '-O', '^has_journal', disk]);
  const share = (directory: string, tag: string): string[] => [
    '-virtfs',
    `local,path=${directory},mount_tag=${tag},security_model=none,readonly=on,multidevs=remap`,
  ];
  const machine = hasKvm()
    ? ['-accel', 'kvm', '-cpu', 'host']
    : ['-accel', 'tcg,thread=multi,tb-size=1024', '-cpu', 'max'];
  console.error(hasKvm() ? 'Booting with KVM' : 'Booting without KVM: everything takes ten times as long');
  const settings = [
    `-smp 2 -m ${values['memory-mb']} -display none -no-reboot -nic none`,
    `-serial stdio -serial file:${status} -device virtio-rng-pci`,
    `-drive file=${disk},if=virtio,format=raw,cache=unsafe`,
  ];
  // A busy computer makes the kernel's check of its timer fail.
  const append = 'console=ttyS0 quiet loglevel=1 panic=-1 no_timer_check mitigations=off';
  const system = ['-kernel', kernel, '-initrd', initramfs, '-append', append];
  const shares = [...share('/', 'host'), ...share(modules, 'modules')];
  const args = [...machine, ...settings.join(' ').split(' '), ...system, ...shares];
  const child = spawn('qemu-system-x86_64', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const forward = (): boolean => child.kill();
  process.on('SIGINT', forward).on('SIGTERM', forward);
  await new Promise((resolve) => child.once('error', resolve).once('exit', resolve));
  const text = readFileSync(status, 'utf8').trim();
  return text === '' ? 1 : Number(text);
}

/** Whether processors can be lent as they are. /dev/kvm alone does not say that. */
function hasKvm(): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return /^flags.*\b(?:vmx|svm)\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
  } catch {
    return false;
  }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
