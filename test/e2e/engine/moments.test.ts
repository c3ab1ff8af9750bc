/** Things that happen at the worst moment: an interrupt before the program begins, a twin that is woken and waits. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Chance } from './chance.ts';
import { Laboratory } from './laboratory.ts';

/** A limit after which an interrupt that got lost shows: the program is killed. */
const GRACE_MS = 5000;
const ROUNDS = 60;

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({ twinDelayMs: 0, limits: { memoryMb: 256, graceMs: GRACE_MS } });
});
afterAll(() => laboratory?.close());

const PROGRAMS: readonly (readonly [name: string, code: string])[] = [
  ['a loop', 'n += 1\nwhile True: pass'],
  ['a loop that only looks', '[None for _ in iter(int, 1)]'],
  ['a long program', `${'n += 1; n -= 1\n'.repeat(5000)}n += 1\nwhile True: pass`],
  ['a program that is asked for a value', 'n += 1\nwhile True: pass'],
];

test.for(PROGRAMS)('%s that is cancelled at any moment is interrupted, not killed', async ([name, code]) => {
  const chance = new Chance();
  await using subject = await laboratory.open();
  await subject.run('n = 0');
  for (let round = 0; round < ROUNDS; round += 1) {
    if (chance.below(2) < 1) await sleep(chance.below(3)); // with a twin or without, and while it is forked
    const signal = AbortSignal.timeout(Math.floor(chance.below(10)));
    const value = name.includes('value') ? { resultVariable: 'n' } : {};
    const execution = await subject.run(code, { signal, ...value });
    const seen = JSON.stringify({ seed: chance.seed, round, state: execution.state, outcome: execution.outcome });
    expect([execution.outcome.status, execution.state.status], seen).toEqual(['cancelled', 'preserved']);
    expect(execution.state.reason, seen).toMatch(/is kept|before it changed anything/);
    expect(execution.durationMs, seen).toBeLessThan(GRACE_MS);
  }
  expect((await subject.run('n')).state.generation).toBe(1);
});

test('a run that is cancelled while the twin of the state before it is still made does not cost that state', async () => {
  await using subject = await laboratory.open({ graceMs: 20, rollbackMb: 500 });
  await subject.run('n = 0; open("large", "wb").write(bytes(240_000_000));'); // which takes a while to copy
  const { state } = await subject.run('n += 1', { signal: AbortSignal.timeout(1) });
  expect(state.status).not.toBe('lost');
  expect(['0', '1']).toContain(await subject.evaluate('n'));
});

test('an interrupt that comes too late hits no later run', async () => {
  await using subject = await laboratory.open();
  await subject.run('n = 0');
  for (let round = 1; round <= ROUNDS; round += 1) {
    const controller = new AbortController();
    const running = subject.run('n = 0', { signal: controller.signal });
    setImmediate(() => controller.abort());
    await running;
    expect((await subject.run('sum(range(20_000))')).outcome.status).toBe('succeeded');
  }
});

test('a twin that is woken does nothing before it is told to: no run after a crash is spoilt', async () => {
  await using subject = await laboratory.open();
  await subject.run('n = 0; import os');
  for (let round = 1; round <= ROUNDS; round += 1) {
    await subject.run('n += 1');
    const crash = await subject.run('os._exit(1)');
    expect(crash.state, `round ${round}`).toMatchObject({ status: 'restored' });
    const next = await subject.run('n');
    expect(next, `round ${round}`).toMatchObject({
      outcome: { status: 'succeeded' },
      results: [{ data: { 'text/plain': `${round}` } }],
      state: { status: 'preserved', generation: round + 1 },
    });
  }
});

test('a rollback brings the files back that it says it has, at every moment', async () => {
  await using subject = await laboratory.open();
  const file = path.join(subject.session.workspace.path, 'file');
  await subject.run('import os');
  for (let round = 1; round <= ROUNDS; round += 1) {
    await subject.run(`open("file", "w").write("before ${round}")`);
    await subject.run(`open("file", "w").write("after ${round}")`);
    const { files } = await subject.session.rollback();
    expect([files, await readFile(file, 'utf8')], `round ${round}`).toEqual(['restored', `before ${round}`]);
  }
});
