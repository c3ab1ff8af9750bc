import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { isBusy, NO_WAIT, Patience, sqliteCodeOf } from './sqlite.ts';

interface Contested {
  readonly ours: DatabaseSync;
  readonly theirs: DatabaseSync;
}

function contested(): Contested {
  const directory = mkdtempSync(path.join(tmpdir(), 'sqlite-'));
  const [ours, theirs] = [0, 1].map(() => new DatabaseSync(path.join(directory, 'file'), NO_WAIT));
  onTestFinished(() => {
    ours?.close();
    theirs?.close();
    rmSync(directory, { recursive: true });
  });
  return { ours, theirs } as Contested;
}

function failureOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

test('a lock is found at once, and told apart from other failures', () => {
  const { ours, theirs } = contested();
  theirs.exec('BEGIN IMMEDIATE');
  const startedAt = performance.now();
  const busy = failureOf(() => ours.exec('BEGIN IMMEDIATE'));
  expect(performance.now() - startedAt).toBeLessThan(1000);
  expect([isBusy(busy), sqliteCodeOf(busy)]).toEqual([true, 5]);
  const wrong = failureOf(() => ours.exec('NO SUCH STATEMENT'));
  expect([isBusy(wrong), sqliteCodeOf(wrong)]).toEqual([false, 1]);
  expect([isBusy(new Error('busy')), sqliteCodeOf(new Error('busy')), sqliteCodeOf(null)]).toEqual([
    false,
    undefined,
    undefined,
  ]);
});

test('details of a code do not hide it', () => {
  expect(isBusy(Object.assign(new Error('BUSY_SNAPSHOT'), { errcode: 517 }))).toBe(true);
});

test('work is done as soon as the lock is released, and timers run meanwhile', async () => {
  const { ours, theirs } = contested();
  theirs.exec('BEGIN IMMEDIATE');
  const waiting = new Patience(60_000).whenFree(() => ours.exec('BEGIN IMMEDIATE'));
  await new Promise((resolve) => setTimeout(resolve, 20)); // could not fire if the wait blocked the thread
  theirs.exec('COMMIT');
  await waiting;
  expect(ours.isTransaction).toBe(true);
});

test('a wait in vain ends with the error of SQLite, and later ones are short until one succeeds', async () => {
  const { ours, theirs } = contested();
  const patience = new Patience(400);
  const begin = (): void => ours.exec('BEGIN IMMEDIATE');
  const elapsed = async (): Promise<number> => {
    const startedAt = performance.now();
    await expect(patience.whenFree(begin)).rejects.toSatisfy(isBusy);
    return performance.now() - startedAt;
  };
  theirs.exec('BEGIN IMMEDIATE');
  expect(await elapsed()).toBeGreaterThanOrEqual(400);
  expect(await elapsed()).toBeLessThan(400);
  theirs.exec('COMMIT');
  await patience.whenFree(begin);
  ours.exec('COMMIT');
  theirs.exec('BEGIN IMMEDIATE');
  expect(await elapsed()).toBeGreaterThanOrEqual(400);
});

test('any other failure is not tried again', async () => {
  let tries = 0;
  const failing = (): never => {
    tries += 1;
    throw new Error('the disk is full');
  };
  await expect(new Patience(1000).whenFree(failing)).rejects.toThrow('the disk is full');
  expect(tries).toBe(1);
});
