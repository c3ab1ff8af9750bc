import { stat } from 'node:fs/promises';
import { parseConfig, type Config } from '../../config.ts';
import type { Environment } from '../../environment/environment.ts';
import { VivariumError } from '../../errors.ts';
import type { Isolation } from '../../execution/isolation.ts';
import { choosePython } from '../../host/local/python.ts';
import type { Context } from '../terminal/context.ts';
import {
  failed,
  ok,
  weak,
  describeLimits,
  describeProbe,
  describePython,
  describeWalls,
  type DoctorFinding,
} from '../doctor/findings.ts';
import { freeBytes, openFilesLimit, probeWalls } from '../doctor/machine.ts';
import { configOf, type MachineFlags } from '../session/flags.ts';
import { openSession } from '../session/open.ts';

const OLDEST_NODE = 24;
const ENOUGH_DISK = 4 * 2 ** 30; // an environment takes about 2 GB, and the next one is built beside it
const ENOUGH_FILES = 4096; // a few for each of hundreds of sessions

interface DoctorReport {
  readonly version: string;
  readonly canOpenSessions: boolean;
  readonly python: Environment | null;
  readonly isolation: Isolation | null;
  readonly findings: readonly DoctorFinding[];
}

/** The installed package. */
export interface Installation {
  readonly version: string;
  /** The folder of the Python side. */
  readonly pythonSide: string;
}

/** Checks everything that sessions need by using it. */
export async function doctor(
  installation: Installation,
  flags: MachineFlags & { json?: boolean },
  context: Context,
): Promise<number> {
  const config = parseConfig(configOf(flags, context.environment), context.environment);
  const report = await examine(installation, { config, flags, context });
  const { stdout } = context;
  await stdout.line(flags.json ? JSON.stringify(report, undefined, 2) : describe(report, context));
  return report.canOpenSessions ? 0 : 3;
}

interface Examination {
  readonly config: Config;
  readonly flags: MachineFlags;
  readonly context: Context;
}

async function examine({ version, pythonSide }: Installation, examination: Examination): Promise<DoctorReport> {
  const { config, context } = examination;
  const { signal } = context.lifetime;
  const machine = describeMachine(config.dataDir);
  let python: Environment | null = null;
  let isolation: Isolation | null = null;
  const findings: DoctorFinding[] = [];
  try {
    python = await choosePython(config, signal);
    findings.push(...describePython(python));
    const probe = await probeWalls(python.python, { pythonSide, env: context.environment, signal });
    try {
      isolation = await tryOut(examination);
      findings.push(...describeWalls(isolation, probe), ...describeLimits(isolation, probe));
    } catch (error) {
      findings.push(describeFailure('Walls', 'a session', error), ...describeProbe(probe));
    }
  } catch (error) {
    findings.push(describeFailure('Python', 'interpreter', error));
  }
  signal.throwIfAborted();
  findings.push(...(await machine));
  return { version, canOpenSessions: isolation !== null, python, isolation, findings };
}

/** The isolation of a session in which code ran. */
async function tryOut({ flags, context }: Examination): Promise<Isolation> {
  await using opened = await openSession({ ...flags, echo: 'none' }, { runsOnce: true, keepsFiles: false }, context);
  const { session } = opened;
  const { outcome } = await session.runCode('1 + 1');
  if (outcome.status === 'succeeded') return session.isolation;
  throw new VivariumError('ENGINE_FAILED', `A session was opened, but the test run in it ended as ${outcome.status}.`);
}

function describeFailure(group: DoctorFinding['group'], name: string, error: unknown): DoctorFinding {
  if (!(error instanceof VivariumError)) throw error;
  const advice =
    group === 'Python' ? 'run `vivarium setup`, or choose an interpreter with --python' : 'see the lines below';
  return failed(group, name, error.message, advice);
}

async function describeMachine(dataDir: string): Promise<DoctorFinding[]> {
  const [isThere, free, files] = await Promise.all([
    stat(dataDir).then(
      () => true,
      () => false,
    ),
    freeBytes(dataDir),
    openFilesLimit(),
  ]);
  const node = process.version;
  const disk = free === undefined ? 'unknown' : `${(free / 2 ** 30).toFixed(1)} GB free`;
  return [
    Number.parseInt(process.versions.node, 10) >= OLDEST_NODE
      ? ok('Machine', 'node', node)
      : failed('Machine', 'node', node, `install Node ${OLDEST_NODE} or later`),
    ok('Machine', 'data directory', isThere ? dataDir : `${dataDir} (will be created when needed)`),
    free === undefined || free >= ENOUGH_DISK
      ? ok('Machine', 'disk', disk)
      : weak('Machine', 'disk', disk, 'free some space, or choose another directory with --data-dir'),
    files === undefined || files >= ENOUGH_FILES
      ? ok('Machine', 'open files', files === undefined ? 'unknown' : String(files))
      : weak('Machine', 'open files', String(files), `for many sessions, run \`ulimit -n ${ENOUGH_FILES}\` first`),
  ];
}

const MARKS = { ok: ['green', '✓'], weak: ['yellow', '!'], failed: ['red', '✗'] } as const;

function describe({ version, findings, canOpenSessions }: DoctorReport, { stdout }: Context): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = [`vivarium ${version}`];
  for (const [group, members] of Map.groupBy(findings, (finding) => finding.group)) {
    lines.push('', stdout.style('bold', group));
    for (const { name, status, detail, advice } of members) {
      const [colour, mark] = MARKS[status];
      const toDo = advice === undefined ? '' : ` → ${advice}`;
      lines.push(`  ${stdout.style(colour, mark)} ${name.padEnd(width)}  ${detail}${toDo}`);
    }
  }
  lines.push(
    '',
    canOpenSessions
      ? stdout.style('green', 'Sessions can be opened.')
      : stdout.style('red', 'No session can be opened.'),
  );
  return lines.join('\n');
}
