/** One hostile session makes every attempt on memory, processes, processor and disk, beside an honest one. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Arena } from '../confinement/arena.ts';
import { attempts, programOfAll, type Attempt } from '../confinement/attempts.ts';
import { wordOf } from '../confinement/verdict.ts';
import type { World } from '../confinement/world.ts';

const GROUPS = ['memory', 'resources'];
/** Between two questions to the honest session. */
const PAUSE_MS = 40;
const LOOK_MS = 50;

export interface SiegeResult {
  /** How long each answer of the honest session took, in order. */
  readonly answersMs: readonly number[];
  /** Answers that were wrong, with what was wrong. */
  readonly wrong: readonly string[];
  readonly escaped: readonly string[];
  readonly attempts: number;
  /** The least share of the memory that was free at the start. */
  readonly keptMemory: number;
}

/** Asks the honest session for as long as told, with nobody beside it: what this machine is able to do now. */
export async function measurePeace(arena: Arena, ms: number): Promise<readonly number[]> {
  await using honest = await arena.openSession(true);
  const answersMs: number[] = [];
  await ask(arena, honest, answersMs, [], AbortSignal.timeout(ms));
  return answersMs;
}

export async function besiege(arena: Arena, world: World, ms: number): Promise<SiegeResult> {
  await using honest = await arena.openSession(true);
  await arena.run(honest, 'kept = 1');
  const answersMs: number[] = [];
  const wrong: string[] = [];
  const escaped: string[] = [];
  const memory = watchMemory();
  const end = AbortSignal.timeout(ms);
  const [count] = await Promise.all([attack(arena, world, escaped, end), ask(arena, honest, answersMs, wrong, end)]);
  return { answersMs, wrong, escaped, attempts: count, keptMemory: memory.stop() };
}

/** The time within which so many of a hundred answers came. */
export function percentile(answersMs: readonly number[], of: number): number {
  const sorted = answersMs.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * of) / 100))] ?? Number.POSITIVE_INFINITY;
}

async function ask(
  arena: Arena,
  honest: Arena['attacker'],
  answersMs: number[],
  wrong: string[],
  end: AbortSignal,
): Promise<void> {
  while (!end.aborted) {
    const startedAt = performance.now();
    const { outcome, logs, state } = await arena.run(honest, 'print(1 + 1)');
    answersMs.push(performance.now() - startedAt);
    if (logs.stdout !== '2\n' || state.status !== 'preserved')
      wrong.push(`${outcome.status}, state ${state.status}: ${JSON.stringify(logs.stdout.slice(0, 100))}`);
    await sleep(PAUSE_MS);
  }
}

/** Makes all attempts at the same time, then one after the other, again and again. */
async function attack(arena: Arena, world: World, escaped: string[], end: AbortSignal): Promise<number> {
  const chosen = attempts.filter(({ group, judge }) => GROUPS.includes(group) && judge !== 'removed');
  let count = 0;
  for (; !end.aborted; count += 1) {
    const program = programOfAll(chosen, await world.describe(arena.facts));
    await arena.run(arena.attacker, program).catch(() => arena.refresh(true));
    await arena.tidy().catch(() => arena.refresh(true));
    for (const attempt of chosen) {
      if (end.aborted) break;
      count += 1;
      await oneAttack(arena, escaped, attempt);
    }
  }
  return count;
}

async function oneAttack(arena: Arena, escaped: string[], attempt: Attempt): Promise<void> {
  try {
    const { execution } = await arena.tryIn(arena.attacker, attempt);
    const isKnown = attempt.guard !== null && !arena.isolation.memory.some((name) => name === attempt.guard);
    if (wordOf(execution.logs.stdout)?.verdict === 'ESCAPED' && !isKnown) escaped.push(attempt.id);
    if (execution.state.status !== 'preserved') await arena.tidy();
  } catch {
    await arena.refresh(true); // it hung; the honest session says whether that matters
  }
}

/** How much memory the machine can still give, as a share of what it could when this began. */
function watchMemory(): { stop(): number } {
  const before = availableBytes();
  let least = before;
  const timer = setInterval(() => void (least = Math.min(least, availableBytes())), LOOK_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return least / before;
    },
  };
}

function availableBytes(): number {
  return Number(/^MemAvailable:\s*(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;
}
