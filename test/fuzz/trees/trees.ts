/**
 * Hostile files. Programs in real sessions make trees of links, pipes, locked and endless directories and worse, some of
 * which change all the time. The host then does with each what its callers may ask for.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeTree } from '../../../src/engine/local/instance/removals.ts';
import type { Execution } from '../../../src/execution/execution.ts';
import type { Host } from '../../../src/host/host.ts';
import type { Session } from '../../../src/host/session.ts';
import { createHost } from '../../../src/host/local/local-host.ts';
import { forModel } from '../../../src/text/for-model.ts';
import { descendants, isRunning, openFiles, roleOf, type Process } from '../../e2e/engine/processes.ts';
import { Generator } from '../../support/generated.ts';
import type { FuzzOutcome } from '../outcome.ts';
import { Witness } from '../witness.ts';
import { HostWatch } from './host-watch.ts';
import { Inspector } from './inspector.ts';
import { OPERATIONS, type Scene } from './operations.ts';
import { Outside } from './outside.ts';

const MAKER = readFileSync(path.join(import.meta.dirname, 'maker.py'), 'utf8');
const LANES = 2;
const TREES_PER_SESSION = 40;
const MOST_OPERATIONS = 6;
const HELPER_MS = 500;
const SETTLING_MS = 15_000;
const PROGRESS_MS = 60_000;
const LIMITS = { timeoutMs: 8000, graceMs: 200, workspaceMb: 64, fileMb: 16, memoryMb: 512, processes: 32 };

export interface TreesOptions {
  readonly trees: number;
  readonly seed: number;
  readonly python: string;
  /** Ends it early. */
  readonly signal?: AbortSignal;
  /** Is told now and then how far it has come. */
  readonly onProgress?: (line: string) => void;
}

interface Grounds {
  readonly host: Host;
  readonly outside: Outside;
  readonly scratch: string;
  readonly seed: number;
  /** Where closed sessions had their files. */
  readonly closed: string[];
  readonly counts: Record<string, number>;
  readonly problems: string[];
}

export async function fuzzTrees({
  trees,
  seed,
  python,
  signal,
  onProgress,
}: TreesOptions): Promise<FuzzOutcome & { summary: string }> {
  const before = new Set(openFiles());

  // Not below /tmp, which every session has one of.
  const base = mkdtempSync(path.join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'viv-trees-'));
  const [data, scratch, outside] = ['data', 'scratch', 'outside'].map((name) => path.join(base, name));
  if (data === undefined || scratch === undefined || outside === undefined) throw new TypeError('never');
  for (const directory of [data, scratch, outside]) mkdirSync(directory);
  const problems: string[] = [];
  const counts: Record<string, number> = { trees: 0 };
  const host = await createHost({ dataDir: data, python, preload: ['pandas'], limits: LIMITS, idleMs: null });
  const grounds = { host, outside: new Outside(outside), scratch, seed, closed: [], counts, problems };
  const session = await host.createSession();
  const witness = await Witness.start((code) => session.runCode(code));
  const ours = await trustedProcesses();
  using watch = new HostWatch(trees);
  const tell = (): void => onProgress?.(`${counts['trees']} trees, ${problems.length} problems`);
  const progress = setInterval(tell, PROGRESS_MS);
  const numbers = Array.from({ length: trees }, (_, number) => number)
    .values()
    .filter(() => signal?.aborted !== true);
  await Promise.all(Array.from({ length: LANES }, () => runLane(grounds, numbers, watch)));
  clearInterval(progress);
  await witness[Symbol.asyncDispose]();
  problems.push(...witness.problems, ...watch.problems);
  for (const one of ours.filter((each) => !isRunning(each))) problems.push(`the ${roleOf(one)} was lost`);
  problems.push(...(await leftOf(() => grounds.closed.filter((home) => existsSync(home)))));
  await host.close();
  problems.push(...(await leftOf(() => readdirSync(path.join(data, 'sessions')))));
  problems.push(
    ...(await leftOf(() =>
      openFiles()
        .filter((file) => !before.has(file))
        .map((file) => `descriptor ${file}`),
    )),
  );
  await removeTree(base);
  return { counts, problems, summary: `${witness.summary}; ${watch.summary}` };
}

/** Goes through trees one by one, with a new session now and then. */
async function runLane(grounds: Grounds, numbers: Iterator<number>, watch: HostWatch): Promise<void> {
  let session: Session | null = null;
  let left = 0;
  for (let next = numbers.next(); next.done !== true; next = numbers.next()) {
    session ??= await grounds.host.createSession();
    if (left === 0) left = TREES_PER_SESSION;
    const isUsable = await fuzzTree(grounds, session, next.value);
    left -= 1;
    watch.look(grounds.counts['trees'] ?? 0);
    if (left > 0 && isUsable) continue;
    left = 0;
    await close(grounds, session);
    session = null;
  }
  if (session !== null) await close(grounds, session);
}

async function close({ closed }: Grounds, session: Session): Promise<void> {
  await session.close();
  closed.push(session.files.location);
}

/** Makes one tree and deals with it. False if the session is of no more use. */
async function fuzzTree(grounds: Grounds, session: Session, number: number): Promise<boolean> {
  const { host, outside, scratch, counts } = grounds;
  const seed = (grounds.seed + number) >>> 0;
  const chance = new Generator(seed);
  const races = chance.pick(['no', 'no', 'thread', 'process']);
  const inspector = new Inspector(outside.token, `tree ${number} (seed ${seed})`);
  const header = `SEED, OUTSIDE, RACES = ${seed}, ${JSON.stringify(outside.directory)}, "${races}"\n`;
  let execution: Execution | null = null;
  await inspector.attempt('making it', async () => (execution = await session.runCode(header + MAKER)));
  count(counts, 'trees');
  if (execution !== null) {
    judge(execution, inspector);
    count(counts, (execution as Execution).outcome.status);
    await operate({ host, session, execution, chance, inspector, scratch }, counts);
  } else count(counts, 'refused');
  const changes = outside.changes();
  if (changes.length > 0) inspector.report('the machine', `was changed: ${changes.join('; ')}`);
  grounds.problems.push(...inspector.problems);
  return execution !== null;
}

async function operate(scene: Scene, counts: Record<string, number>): Promise<void> {
  const names = Object.keys(OPERATIONS);
  for (let left = 2 + scene.chance.number(MOST_OPERATIONS - 1); left > 0; left -= 1) {
    const name = scene.chance.pick(names);
    const isDone = await scene.inspector.attempt(name, async () => OPERATIONS[name]?.(scene));
    count(counts, isDone ? 'operations' : 'refusals');
  }
}

/** What a caller is told about the run that made the tree. */
function judge(execution: Execution, inspector: Inspector): void {
  inspector.text('the answer', JSON.stringify(execution));
  inspector.text('the words for a model', forModel(execution));
  for (const { path: name, notKept } of execution.files) {
    inspector.text('a written file', name);
    inspector.text('a reason', notKept ?? '');
  }
}

/** The processes that all sessions depend on. A helper of the builder looks like it, but ends soon. */
async function trustedProcesses(): Promise<Process[]> {
  const found = descendants().filter((one) => ['zygote', 'surveyor', 'builder'].includes(roleOf(one)));
  await sleep(HELPER_MS);
  return found.filter(isRunning);
}

/** What is still there after a while. */
async function leftOf(look: () => string[]): Promise<string[]> {
  for (const deadline = performance.now() + SETTLING_MS; performance.now() < deadline; await sleep(100))
    if (look().length === 0) return [];
  return look().map((left) => `left behind: ${left}`);
}

function count(counts: Record<string, number>, what: string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}
