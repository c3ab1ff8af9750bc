/** What a virtual machine is made of, fetched by apt: QEMU, busybox and the kernel of Debian or Ubuntu. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { findProgram } from '../../src/environment/command.ts';

/** Of the kernel, for what the machine boots from. They load others that they need. */
const MODULES = ['virtio_pci', 'virtio_blk', 'virtio-rng', '9pnet_virtio', '9p', 'crc32c_generic', 'ext4', 'overlay'];
/** Programs and their packages. */
const PROGRAMS = { 'qemu-system-x86_64': 'qemu-system-x86', busybox: 'busybox-static', mke2fs: 'e2fsprogs' };
const KERNEL = 'linux-image-amd64';
const ENV = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin`, DEBIAN_FRONTEND: 'noninteractive' };

export interface Parts {
  readonly kernel: string;
  readonly modules: string;
  readonly busybox: string;
}

export async function fetchParts(folder: string): Promise<Parts> {
  if (process.arch !== 'x64') throw new Error(`it is made for x64 only; this is ${process.arch}`);
  await installPrograms();
  const modules = path.join(folder, 'kernel/lib/modules');
  if (!existsSync(path.join(folder, 'complete'))) fetchKernel(folder, modules);
  const kernels = readdirSync(path.join(folder, 'kernel/boot')).filter((name) => name.startsWith('vmlinuz-'));
  const busybox = await findProgram('busybox', ENV);
  return { kernel: path.join(folder, 'kernel/boot', kernels[0] ?? ''), modules, busybox: busybox ?? '' };
}

async function installPrograms(): Promise<void> {
  const found = await Promise.all(Object.keys(PROGRAMS).map((name) => findProgram(name, ENV)));
  const missing = Object.values(PROGRAMS).filter((_, index) => found[index] === undefined);
  if (missing.length === 0) return;
  const command = ['install', '--yes', '--no-install-recommends', ...missing];
  if (process.getuid?.() !== 0) throw new Error(`as root, run: apt-get ${command.join(' ')}`);
  run('apt-get', ['update', '--quiet']);
  run('apt-get', command);
}

/** Unpacks a kernel without installing it. */
function fetchKernel(folder: string, modules: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const depends = execFileSync('apt-cache', ['depends', KERNEL], { encoding: 'utf8', env: ENV });
  const name = /Depends: (linux-image-\S+)/.exec(depends)?.[1];
  if (name === undefined) throw new Error(`apt has no ${KERNEL}: run apt-get update, or use Debian`);
  run('apt-get', ['download', '--quiet', name], folder);
  const file = readdirSync(folder).find((each) => each.endsWith('.deb')) ?? '';
  run('dpkg-deb', ['--extract', file, 'kernel'], folder);
  rmSync(path.join(folder, file));
  for (const version of readdirSync(modules)) run('busybox', ['depmod', '-b', 'kernel', version], folder);
  writeFileSync(path.join(folder, 'complete'), ''); // written last, so that an interrupted fetch is repeated
}

/** Makes the file system that the kernel starts with. `job` are lines of shell, for guest.sh. */
export function packInitramfs({ modules, busybox }: Parts, folder: string, job: string): string {
  const tree = path.join(folder, 'initramfs');
  const version = readdirSync(modules)[0] ?? '';
  const files = neededModules(readFileSync(path.join(modules, version, 'modules.dep'), 'utf8'));
  for (const file of ['modules.dep', 'modules.alias', 'modules.symbols', ...files]) {
    const target = path.join(tree, 'lib/modules', version, file);
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(path.join(modules, version, file), target);
  }
  for (const name of ['bin', 'proc', 'sys', 'dev']) mkdirSync(path.join(tree, name));
  copyFileSync(busybox, path.join(tree, 'bin/busybox'));
  copyFileSync(path.join(import.meta.dirname, 'boot.sh'), path.join(tree, 'init'));
  copyFileSync(path.join(import.meta.dirname, 'guest.sh'), path.join(tree, 'guest.sh'));
  chmodSync(path.join(tree, 'init'), 0o755);
  writeFileSync(path.join(tree, 'wanted'), MODULES.join('\n'));
  writeFileSync(path.join(tree, 'job.sh'), job);
  run('sh', ['-c', 'find . | busybox cpio -o -H newc > ../initramfs.cpio'], tree);
  return path.join(folder, 'initramfs.cpio');
}

/** The files of our modules and of those that they need; lines are like `kernel/a.ko: kernel/b.ko kernel/c.ko`. */
function neededModules(dependencies: string): Set<string> {
  const lines = dependencies.split('\n').map((line) => line.replace(':', '').split(' ').filter(Boolean));
  const wanted = lines.filter(([file = '']) => MODULES.includes(path.basename(file).replace(/\.ko.*$/, '')));
  return new Set(wanted.flat());
}

export function run(command: string, args: readonly string[], cwd?: string): void {
  execFileSync(command, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: ENV,
    ...(cwd === undefined ? {} : { cwd }),
  });
}
