/** `npm run chaos`: callers under random faults, and an oracle that checks every answer. See CONTRIBUTING.md. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { defaultDataDir } from '../../src/data-dir.ts';
import { findEnvironment } from '../../src/environment/find.ts';
import type { Weather } from './faults/weather.ts';
import { mountSmallDisk } from './faults/machine.ts';
import { ProcessSlots } from './faults/process-slots.ts';
import { Report } from './report.ts';
import { storm, type MachineMode } from './storm.ts';

const MINUTE_MS = 60_000;
/** Set in the process that does the work: its directory, whether it has a mount namespace of its own, and its control group. */
const INSIDE = 'VIVARIUM_CHAOS_DIRECTORY';
const OWN_MOUNTS = 'VIVARIUM_CHAOS_OWN_MOUNTS';
const OWN_SLOTS = 'VIVARIUM_CHAOS_OWN_SLOTS';
const WITH_OWN_MOUNTS = ['unshare', '--mount'];

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    sessions: { type: 'string', default: '8' },
    'fault-ms': { type: 'string', default: '100' },
    'pause-ms': { type: 'string', default: '20' },
    /** Whether disk, descriptors, process slots and database fail too (yes, no), or nothing but these (only). */
    machine: { type: 'string', default: 'yes' },
    /** Where the steps of sessions that were told something untrue are written. */
    traces: { type: 'string', default: path.join(tmpdir(), 'vivarium-chaos') },
  },
});

const directory = process.env[INSIDE];
process.exitCode = directory === undefined ? startInside() : await main(directory);

/** A full disk needs a file system of our own, which only root can make, and which must not outlive us. */
function startInside(): number {
  process.on('SIGINT', () => undefined); // the work ends by it, and its result is waited for
  const home = mkdtempSync(path.join(tmpdir(), 'viv-chaos-'));
  const slots = ProcessSlots.create();
  const canMount = process.getuid?.() === 0 && canRun([...WITH_OWN_MOUNTS, 'true']);
  const command = [process.execPath, ...process.execArgv, import.meta.filename, ...process.argv.slice(2)];
  const [program = '', ...args] = canMount ? [...WITH_OWN_MOUNTS, ...command] : command;
  try {
    const env = {
      ...process.env,
      [INSIDE]: home,
      [OWN_MOUNTS]: canMount ? '1' : '',
      [OWN_SLOTS]: slots?.directory ?? '',
    };
    const { status, error } = spawnSync(program, args, { stdio: 'inherit', env });
    if (error !== undefined) throw error;
    return status ?? 1;
  } finally {
    rmSync(home, { recursive: true, force: true });
    slots?.remove();
  }
}

function missing(isThere: boolean, what: string): string {
  return isThere ? '' : `, no ${what}: that needs root`;
}

function machineMode(text: string): MachineMode {
  if (text === 'yes' || text === 'no' || text === 'only') return text;
  throw new RangeError(`--machine is yes, no or only, not "${text}".`);
}

function canRun([program = '', ...args]: readonly string[]): boolean {
  return spawnSync(program, args).status === 0;
}

async function main(home: string): Promise<number> {
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
  const hasOwnDisk = process.env[OWN_MOUNTS] === '1';
  if (hasOwnDisk) await mountSmallDisk(home);
  const { [OWN_SLOTS]: group = '' } = process.env;
  const slots = group === '' ? null : ProcessSlots.at(group);
  slots?.enter();
  process.env['TMPDIR'] = path.join(home, 'tmp'); // so that only what our host leaves there is seen
  mkdirSync(process.env['TMPDIR']);
  const seed = Number(values.seed);
  const report = new Report(({ kind, what }) => say(`${kind}: ${what}`));
  const startedAtMs = performance.now();
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort()); // a second one ends the process
  say(
    `seed ${seed}: ${values.minutes} minutes, ${values.sessions} sessions${missing(hasOwnDisk, 'full disk')}${missing(slots !== null, 'lack of processes')}`,
  );
  const weather = await storm({
    seed,
    report,
    hasOwnDisk,
    slots,
    directory: home,
    python: environment.python,
    over: AbortSignal.any([stop.signal, AbortSignal.timeout(Number(values.minutes) * MINUTE_MS)]),
    sessions: Number(values.sessions),
    faultMs: Number(values['fault-ms']),
    machine: machineMode(values.machine),
    pauseMs: Number(values['pause-ms']),
    onProgress: (soFar) => say(`${seconds(startedAtMs)} s: ${totals(report, soFar)}`),
  });
  describe(report, weather);
  const traces = path.join(values.traces, `seed-${seed}`);
  if (report.findings.length > 0) {
    report.write(traces);
    say(`The last steps of each are in ${traces}`);
  }
  say(
    `${report.findings.length === 0 ? 'PASS' : 'FAIL'}: seed ${seed}, ${seconds(startedAtMs)} s, ${totals(report, weather)}`,
  );
  return report.findings.length === 0 ? 0 : 1;
}

function describe({ fates, errors }: Report, { counts }: Weather): void {
  table('faults', counts);
  table('receipts', fates);
  table('errors', errors);
}

function totals(report: Report, weather: Weather): string {
  const { calls, receipts, readings } = report;
  const found = (['lie', 'hang', 'leftover'] as const).map((kind) => `${report.count(kind)} ${kind}s`).join(', ');
  return `${weather.total} faults, ${calls} calls, ${receipts} receipts checked, ${readings} states read back, ${found}`;
}

function table(title: string, counts: ReadonlyMap<string, number>): void {
  say(`${title}:`);
  for (const name of [...counts.keys()].toSorted()) say(`  ${String(counts.get(name)).padStart(7)}  ${name}`);
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1000).toFixed(0);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
