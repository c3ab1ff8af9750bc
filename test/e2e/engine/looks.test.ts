/** Cells that look like a look: some have effects, and those can be undone. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Laboratory } from './laboratory.ts';

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({ limits: { memoryMb: 1024, graceMs: 100 } });
});
afterAll(() => laboratory?.close());

/** What they do to a name that does not count as a variable, so that no comparison finds it afterwards. */
const CLASSES = `
from collections import defaultdict
_calls = []
class Thing:
    @property
    def count(self): _calls.append(1); return len(_calls)
    def __getattr__(self, name): _calls.append(1); return name
    def __add__(self, other): _calls.append(1); return 1
    def __getitem__(self, key): _calls.append(1); return key
    def __eq__(self, other): _calls.append(1); return True
    __hash__ = None
    def __format__(self, spec): _calls.append(1); return 'x'
class Shown:
    def __repr__(self): _calls.append(1); return 'shown'
class Html:
    def _repr_html_(self): _calls.append(1); return '<b>shown</b>'
class Reader(defaultdict):
    def __missing__(self, key): _calls.append(1); return key
thing, shown, html, reader = Thing(), Shown(), Html(), Reader()
holder = [shown]
`;

const EFFECTS: readonly (readonly [name: string, code: string])[] = [
  ['a property', 'thing.count'],
  ['__getattr__', 'thing.anything'],
  ['an operator', 'thing + 1'],
  ['a comparison', 'thing == 1'],
  ['a subscript', 'thing[0]'],
  ['a read of a mapping with __missing__', 'reader["a"]'],
  ['a format', 'f"{thing}"'],
  ['__repr__', 'shown'],
  ['__repr__ inside a list', 'holder'],
  ['_repr_html_', 'html'],
];

for (const [name, code] of EFFECTS) {
  test(`${name} with an effect is undone by a rollback, and kept when the next run crashes`, async () => {
    await using subject = await laboratory.open();
    await subject.run(CLASSES);
    await subject.run('before = "there"');
    await subject.run(code);
    const lost = await subject.run('import os; os._exit(1)');
    expect(lost.state.status).toBe('restored');
    expect(await subject.evaluate('len(_calls) > 0, before')).toBe("(True, 'there')");
    await subject.run('_calls.clear()');
    await subject.run(code);
    await subject.session.rollback();
    expect(await subject.evaluate('len(_calls), before')).toBe("(0, 'there')");
  });
}

test('a defaultdict that grows when it is read is rolled back to what it was', async () => {
  await using subject = await laboratory.open();
  await subject.run('from collections import defaultdict\nd = defaultdict(list)');
  const look = await subject.run('d["new"]');
  expect(look.state.variables.changed).toEqual(['d']);
  await subject.session.rollback();
  expect(await subject.evaluate('len(d)')).toBe('0');
});

test('a rollback after mere looks undoes the last change, not the looks', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = [1, {"a": 2}]');
  await subject.run('x = 0');
  for (const code of ['x', 'x + 1', 'f"{x}"', '[x, (x,)]', 'x.real', 'None']) await subject.run(code);
  await subject.session.rollback();
  expect(await subject.evaluate('x[1]["a"]')).toBe('2');
});
