import { setTimeout as sleep } from 'node:timers/promises';

/** What a series of durations comes to, in milliseconds. */
export interface Timing {
  readonly count: number;
  readonly minMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

export async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Durations of `count` calls, one after the other, with a pause after each. */
export async function series(count: number, work: () => Promise<number>, pauseMs = 0): Promise<number[]> {
  const durations: number[] = [];
  for (let index = 0; index < count; index += 1) {
    durations.push(await work());
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return durations;
}

/** A contestant's durations; none for one that is not there. */
export type Durations<Name extends string> = (name: Name) => readonly number[];

/** Takes turns between the contestants, so that what else the machine does hits all of them alike. */
export async function interleave<Name extends string>(
  rounds: number,
  contestants: Readonly<Record<Name, (() => Promise<readonly number[]>) | undefined>>,
): Promise<Durations<Name>> {
  const entries = Object.entries<(() => Promise<readonly number[]>) | undefined>(contestants);
  const durations = new Map<string, number[]>(entries.map(([name]) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, run] of entries) if (run) durations.get(name)?.push(...(await run()));
  }
  return (name) => durations.get(name) ?? [];
}

/** Does the work for every item, a few at a time. */
export async function forEachOf<T>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = Iterator.from(items);
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

/** Undefined for no durations: a peer that is not there. */
export function summarise(durations: readonly number[]): Timing | undefined {
  if (durations.length === 0) return undefined;
  const sorted = durations.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { count: sorted.length, minMs: at(0), p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}

export function summariseAll(durations: readonly number[]): Timing {
  return (
    summarise(durations) ?? { count: 0, minMs: Number.NaN, p50Ms: Number.NaN, p95Ms: Number.NaN, p99Ms: Number.NaN }
  );
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
