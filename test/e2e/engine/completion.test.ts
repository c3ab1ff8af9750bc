/** Completion in sessions that do not cooperate. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';
import { processesOf } from './processes.ts';

/** Pid 1, the worker, and twins of the present state and of the one before. */
const TWINNED = 4;

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({ limits: { graceMs: 100 } });
});
afterAll(() => laboratory?.close());

const pidsOf = (subject: Subject): number[] => processesOf(subject).map(({ pid }) => pid);

const TRAP = `
class Trap:
    ran = []
    @property
    def costly(self):
        Trap.ran.append(1)
        return {}
    def __getattr__(self, name):
        Trap.ran.append(name)
    def __dir__(self):
        Trap.ran.append("dir")
        return []
trap = Trap()`;

test('completion runs no code of the program', async () => {
  await using subject = await laboratory.open();
  const { session } = subject;
  await subject.run(TRAP);
  expect((await session.complete('trap.co', 7)).matches).toEqual(['costly']);
  expect((await session.complete('trap.costly.', 12)).matches).toEqual([]);
  expect((await session.complete('trap.none.', 10)).matches).toEqual([]);
  const { results } = await subject.run('Trap.ran');
  expect(results[0]?.data['text/plain']).toBe('[]');
});

test('completion neither changes the state nor costs the twin', async () => {
  await using subject = await laboratory.open();
  for (const code of ['x = 40', 'x += 1']) await subject.run(code);
  await vi.waitFor(() => expect(pidsOf(subject)).toHaveLength(TWINNED));
  const before = pidsOf(subject);
  for (const code of ['x', 'import nu', 'x.re', 'print(']) await subject.session.complete(code, code.length);
  await subject.run('x'); // a look, so that whatever completion left undone would be done before it
  expect(pidsOf(subject)).toEqual(before);
  const crash = await subject.run('x = 0; import os; os.abort()');
  expect(crash.state).toMatchObject({ status: 'restored', variables: { added: [], changed: [], removed: [] } });
  expect((await subject.session.complete('x.bit_l', 7)).matches).toEqual(['bit_length']);
  expect((await subject.run('x')).results[0]?.data['text/plain']).toBe('41');
});

test('what a forging session offers is checked against the code, and cleaned', async () => {
  await using subject = await laboratory.open();
  await subject.run(`
import sys
worker = sys.modules["_vivarium.worker.main"]
worker.complete = lambda *_: {"prefix": "pr", "matches": ["print", "pr\\x1b[2J", "pr\\u202eevil", "pr\\nint", "other", "print"]}`);
  expect(await subject.session.complete('pr', 2)).toEqual({ matches: ['print'], start: 0, end: 2 });
  expect(await subject.session.complete('x = a', 5)).toEqual({ matches: [], start: 5, end: 5 });
});

test('columns of a table are keys, and attributes if they are names', async () => {
  await using subject = await laboratory.open();
  await subject.run('import pandas as pd; frame = pd.DataFrame({"north": [1], "north west": [2], 5: [3]})');
  expect((await subject.session.complete('frame["no', 9)).matches).toEqual(['north west"]', 'north"]']);
  expect((await subject.session.complete('frame.nort', 10)).matches).toEqual(['north']);
  expect((await subject.session.complete('frame[', 6)).matches).toContain('5]');
});
