import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Upkeep } from './upkeep.ts';

const HOUR_MS = 3_600_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work that is noted, and that ends when the test says so. */
function work(): {
  done: string[];
  end: (error?: Error) => Promise<void>;
  sweep: () => Promise<void>;
  trim: () => Promise<void>;
} {
  const done: string[] = [];
  let current = Promise.withResolvers<void>();
  const begin = (what: string) => (): Promise<void> => {
    done.push(what);
    current = Promise.withResolvers();
    return current.promise;
  };
  return {
    done,
    sweep: begin('sweep'),
    trim: begin('trim'),
    end: async (error) => {
      if (error === undefined) current.resolve();
      else current.reject(error);
      await vi.advanceTimersByTimeAsync(0);
    },
  };
}

test('a store is swept once an hour, and not before', async () => {
  const noted = work();
  using upkeep = new Upkeep(noted, Infinity);
  vi.advanceTimersByTime(HOUR_MS - 1);
  expect(noted.done).toEqual([]);
  vi.advanceTimersByTime(1);
  await noted.end();
  vi.advanceTimersByTime(HOUR_MS);
  expect(noted.done).toEqual(['sweep', 'sweep']);
  expect(upkeep).toBeDefined();
});

test('the size is looked at when more than a sixteenth was added, and the count starts again', async () => {
  const noted = work();
  using upkeep = new Upkeep(noted, 1600);
  upkeep.added(60);
  upkeep.added(40);
  expect(noted.done).toEqual([]);
  upkeep.added(1);
  expect(noted.done).toEqual(['trim']);
  await noted.end();
  upkeep.added(100);
  expect(noted.done).toEqual(['trim']);
  upkeep.added(1);
  expect(noted.done).toEqual(['trim', 'trim']);
});

test('a store without a size limit is never trimmed for its size', () => {
  const noted = work();
  using upkeep = new Upkeep(noted, Infinity);
  upkeep.added(Number.MAX_SAFE_INTEGER);
  expect(noted.done).toEqual([]);
});

test('in a store that may hold nothing, every byte is looked at, but no empty file', () => {
  const noted = work();
  using upkeep = new Upkeep(noted, 0);
  upkeep.added(0);
  expect(noted.done).toEqual([]);
  upkeep.added(1);
  expect(noted.done).toEqual(['trim']);
});

test('one round at a time: what is added meanwhile is looked at when the round has ended', async () => {
  const noted = work();
  using upkeep = new Upkeep(noted, 1600);
  upkeep.added(101);
  upkeep.added(101);
  vi.advanceTimersByTime(HOUR_MS);
  expect(noted.done).toEqual(['trim']);
  await noted.end();
  expect(noted.done).toEqual(['trim', 'trim']);
  await noted.end();
  expect(noted.done).toEqual(['trim', 'trim']);
});

test('a round that fails is forgotten, and the next one comes', async () => {
  const noted = work();
  using upkeep = new Upkeep(noted, 1600);
  upkeep.added(101);
  await noted.end(new Error('the disk is full'));
  upkeep.added(101);
  expect(noted.done).toEqual(['trim', 'trim']);
});

test('after its end a store is no longer swept', () => {
  const noted = work();
  const upkeep = new Upkeep(noted, 1600);
  upkeep[Symbol.dispose]();
  vi.advanceTimersByTime(10 * HOUR_MS);
  expect(noted.done).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
