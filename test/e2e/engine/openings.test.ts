/** Openings that are given up: they cost their callers nothing but the opening, and others nothing at all. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';

let laboratory: Laboratory;
let witness: Subject;
let shared: string;
beforeAll(async () => {
  laboratory = await Laboratory.start();
  shared = await mkdtemp(path.join(tmpdir(), 'viv-openings-'));
  witness = await laboratory.open();
  await witness.run('x = 41');
});
afterAll(async () => {
  await laboratory.close();
  await rm(shared, { recursive: true });
});

test.for([0, 1, 3, 10, 30])('several openings given up after %i ms leave other sessions alone', async (delayMs) => {
  const mounts = [{ source: shared, target: '/shared', writable: false }];
  const giveUp = new AbortController();
  const openings = Array.from({ length: 4 }, () => laboratory.open({}, { mounts, signal: giveUp.signal }));
  const settled = Promise.allSettled(openings);
  await sleep(delayMs);
  const reason = new Error('no longer needed');
  giveUp.abort(reason);
  const reasons: unknown[] = [];
  for (const opening of await settled) {
    if (opening.status === 'fulfilled') await opening.value.session.close();
    else reasons.push(opening.reason);
  }
  expect(reasons).toEqual(reasons.map(() => reason)); // the caller's own
  const { results, state } = await witness.run('x + 1');
  expect(results[0]?.data['text/plain']).toBe('42');
  expect(state.status).toBe('preserved');
  await using later = await laboratory.open({}, { mounts });
  expect(await later.evaluate('1 + 1')).toBe('2');
});
