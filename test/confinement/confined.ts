/** Attempts inside the walls: runs them and decides, by their word or by a look from outside. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Execution } from '../../src/execution/execution.ts';
import { HURRIED_MS, LIMITS, type Arena } from './arena.ts';
import type { Attempt } from './attempts.ts';
import { tryMounted } from './mounted.ts';
import { broken, contained, escaped, wordOf, type Finding } from './verdict.ts';
import { countMarked, type World } from './world.ts';

const TOO_MUCH_MEMORY = 200 << 20;
const TOO_MANY_RESULTS = 10_000;
/** Most of it is for a busy machine: the host needs less than 50 ms for any frame. */
const LONGEST_STALL_MS = 1000;
const LONGEST_REASON = 500;
/** Long enough for a limit to be seen to be passed. */
const GOING_ON_MS = 3000;
const LIVE_THREAD = 'import threading, time\nthreading.Thread(target=time.sleep, args=(20,), daemon=True).start()';

export interface Confined {
  readonly finding: Finding;
  /** What the attacked session said about its state. */
  readonly state: string;
}

/** Tries an attempt inside the walls. */
export async function tryConfined(attempt: Attempt, arena: Arena, world: World): Promise<Confined> {
  switch (attempt.judge) {
    case 'fresh':
    case 'unprotected':
    case 'close':
    case 'removed':
      return { finding: await tryInOwnSession(attempt, arena, world), state: 'preserved' };
    case 'nested':
    case 'mounted':
    case 'link':
      return { finding: await tryMounted(attempt, arena, world), state: 'preserved' };
    case 'randomness':
      return { finding: await compareRandomness(attempt, arena), state: 'preserved' };
    case 'word':
    case 'canary':
    case 'listener':
    case 'leftover':
    case 'output':
    case 'survival':
    case 'prototype':
    case 'memory':
    case 'crash':
    case 'told':
    case 'stall':
    case 'signalled':
      return tryInAttacker(attempt, arena, world);
  }
}

async function tryInAttacker(attempt: Attempt, arena: Arena, world: World): Promise<Confined> {
  const peak = watchMemory();
  const stalls = watchStalls();
  const { execution, host } = await arena.tryIn(arena.attacker, attempt);
  const grown = peak.stop();
  const stalledMs = stalls.stop();
  const state = execution.state.status;
  const word = wordOf(execution.logs.stdout);
  if (word?.verdict === 'ESCAPED') return { finding: word, state };
  switch (attempt.judge) {
    case 'canary':
      return { finding: (await world.isIntact()) ? contained() : escaped('planted files were changed'), state };
    case 'listener':
      return {
        finding: (await world.canConnect(host.freePort)) ? escaped('the host could connect') : contained(),
        state,
      };
    case 'leftover':
      return {
        finding:
          (await countMarked(host.mark, (count) => count === 0)) > 0
            ? escaped('a process is left')
            : contained(execution.outcome.status),
        state,
      };
    case 'output':
      return { finding: judgeOutput(execution, grown), state };
    case 'memory':
      return { finding: judgeMemory(execution, grown), state };
    case 'prototype':
      return {
        finding: isPrototypeClean() ? contained(execution.outcome.status) : escaped('prototype changed'),
        state,
      };
    case 'crash':
      return {
        finding:
          execution.outcome.status === 'crashed' ? contained() : escaped(`reported as ${execution.outcome.status}`),
        state,
      };
    case 'stall':
      return { finding: judgeStall(execution, grown, stalledMs), state };
    case 'signalled':
      return { finding: await judgeSignalled(world, arena), state };
    case 'told':
      return judgeTold(execution, arena);
    case 'survival':
      return { finding: contained(describeEnd(execution)), state };
    default:
      return { finding: word ?? judgeSilence(execution), state };
  }
}

/** A twin is woken by the time that the next run begins. */
async function judgeSignalled(world: World, arena: Arena): Promise<Finding> {
  await arena.run(arena.attacker, 'pass');
  return (await world.wasSignalled()) ? escaped('another process was signalled') : contained();
}

/** A program that reported its own end: whatever becomes of it, the next run says so. */
async function judgeTold(execution: Execution, arena: Arena): Promise<Confined> {
  const { status } = execution.outcome;
  if (status !== 'succeeded') return { finding: contained(status), state: execution.state.status };
  await sleep(GOING_ON_MS);
  const next = await arena.run(arena.attacker, 'pass');
  const { status: state, reason = '' } = next.state.earlier ?? next.state;
  return { finding: state === 'preserved' ? escaped('nobody was told') : contained(reason), state };
}

/** A program that did not get to say its word was stopped, or is broken. */
function judgeSilence({ outcome, error, logs }: Execution): Finding {
  if (outcome.status === 'succeeded' || outcome.status === 'raised') {
    return broken(`no verdict: ${error?.traceback ?? logs.stderr.slice(-300)}`);
  }
  return contained(describeEnd({ outcome }));
}

function describeEnd({ outcome }: Pick<Execution, 'outcome'>): string {
  return outcome.status === 'crashed' ? outcome.reason : outcome.status;
}

function judgeOutput({ logs, truncated, outcome }: Execution, grown: number): Finding {
  if (logs.stdout.length > LIMITS.outputBytes + 200) return escaped(`${logs.stdout.length} characters were kept`);
  if (grown > TOO_MUCH_MEMORY) return escaped(`the host grew by ${grown >> 20} MB`);
  return truncated?.stdout === undefined ? broken(`nothing was cut: ${outcome.status}`) : contained();
}

function judgeMemory({ outcome, results }: Execution, grown: number): Finding {
  if (grown > TOO_MUCH_MEMORY) return escaped(`the host grew by ${grown >> 20} MB`);
  if (results.length > TOO_MANY_RESULTS) return escaped(`${results.length} results were kept`);
  return contained(outcome.status);
}

/** Other sessions wait as long as the event loop of the host stands still. */
function judgeStall({ outcome, error }: Execution, grown: number, stalledMs: number): Finding {
  if (error !== undefined) return broken(error.traceback);
  if (stalledMs > LONGEST_STALL_MS) return escaped(`the host stood still for ${Math.round(stalledMs)} ms`);
  if (grown > TOO_MUCH_MEMORY) return escaped(`the host grew by ${grown >> 20} MB`);
  const reason = outcome.status === 'crashed' ? outcome.reason : '';
  return reason.length > LONGEST_REASON ? escaped(`a reason of ${reason.length} characters`) : contained(reason);
}

async function tryInOwnSession(attempt: Attempt, arena: Arena, world: World): Promise<Finding> {
  if (attempt.judge === 'fresh') await arena.passSecrets();
  const session = await arena.openSession(attempt.judge === 'fresh');
  try {
    if (attempt.judge === 'unprotected') await arena.run(session, LIVE_THREAD);
    const { execution, host } = await arena.tryIn(session, attempt);
    if (attempt.judge === 'fresh') return wordOf(execution.logs.stdout) ?? judgeSilence(execution);
    if (attempt.judge === 'unprotected')
      return await judgeUnprotected(attempt, execution, () => arena.run(session, 'print(42)', HURRIED_MS));
    if (attempt.judge === 'close' && (await countMarked(host.mark, (count) => count > 0)) === 0)
      return broken('it left nothing');
    await session.close();
    if (attempt.judge === 'close') {
      return (await countMarked(host.mark, (count) => count === 0)) === 0 ? contained() : escaped('a process is left');
    }
    if (existsSync(path.dirname(session.workspace.path))) return escaped('files are left');
    return (await world.isIntact()) ? contained() : escaped('planted files were changed');
  } finally {
    await session.close();
  }
}

async function judgeUnprotected(
  attempt: Attempt,
  execution: Execution,
  next: () => Promise<Execution>,
): Promise<Finding> {
  const limitMs = (attempt.isHurried ? HURRIED_MS : LIMITS.timeoutMs) + LIMITS.graceMs + 2000;
  if (execution.durationMs > limitMs) return escaped(`it ran for ${Math.round(execution.durationMs)} ms`);
  for (let tries = 0; tries < 3; tries += 1)
    if ((await next()).logs.stdout === '42\n') return contained(execution.outcome.status);
  return escaped('the session does not work any more');
}

async function compareRandomness(attempt: Attempt, arena: Arena): Promise<Finding> {
  const drawn: Record<string, unknown>[] = [];
  for (let count = 0; count < 3; count += 1) {
    const session = await arena.openSession(true);
    try {
      const { execution } = await arena.tryIn(session, attempt);
      const line = execution.logs.stdout.split('\n').find((text) => text.startsWith('{'));
      if (line === undefined) return judgeSilence(execution);
      drawn.push(JSON.parse(line) as Record<string, unknown>);
    } finally {
      await session.close();
    }
  }
  const repeated = Object.keys(drawn[0] ?? {}).filter(
    (name) => new Set(drawn.map((values) => values[name])).size < drawn.length,
  );
  return repeated.length === 0
    ? contained(Object.keys(drawn[0] ?? {}).join(', '))
    : escaped(`repeated: ${repeated.join(', ')}`);
}

/** Whether the objects of JavaScript are what they were. */
function isPrototypeClean(): boolean {
  const plain: Record<string, unknown> = {};
  return (
    typeof plain['toString'] === 'function' && plain['constructor'] === Object && plain['text/plain'] === undefined
  );
}

/** How much this process grows until stopped. */
function watchMemory(): { stop(): number } {
  const before = process.memoryUsage.rss();
  let peak = before;
  const look = (): void => void (peak = Math.max(peak, process.memoryUsage.rss()));
  const timer = setInterval(look, 10);
  return {
    stop: () => {
      look();
      clearInterval(timer);
      return peak - before;
    },
  };
}

/** How long this process was kept from doing anything else, at most, until stopped. */
function watchStalls(): { stop(): number } {
  let [longest, last] = [0, performance.now()];
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 5);
  return {
    stop: () => {
      look();
      clearInterval(timer);
      return longest;
    },
  };
}
