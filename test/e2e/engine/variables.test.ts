/** What receipts say about variables, in sessions that hold much. */
import { access, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({ limits: { memoryMb: 2048, graceMs: 100 } });
});
afterAll(() => laboratory?.close());

const changesOf = async (subject: Subject, code: string) => (await subject.run(code)).state.variables;
const NOTHING = { added: [], changed: [], removed: [] };

test('above 5,000 variables every change is told', async () => {
  await using subject = await laboratory.open();
  const made = await changesOf(subject, 'for _i in range(20_000): globals()[f"v{_i:05}"] = [_i]');
  expect(made).toMatchObject({ omitted: 19_800, changed: [], removed: [] });
  expect(made.added.slice(0, 2)).toEqual(['v00000', 'v00001']);
  const change = 'v19999.append(1); v00001 = 5; del v10000; new = 1';
  expect(await changesOf(subject, change)).toEqual({
    added: ['new'],
    changed: ['v00001', 'v19999'],
    removed: ['v10000'],
  });
  expect(await changesOf(subject, 'new')).toEqual(NOTHING);
  const variables = await subject.session.inspect();
  expect(variables).toHaveLength(5001);
  expect(variables.at(-1)).toMatchObject({ name: '…', description: '15000 older variables are not listed' });
});

test('a change in place is told beside fifty tables, and nothing else is', async () => {
  await using subject = await laboratory.open();
  await subject.run(`
import numpy as np, pandas as pd
for _i in range(50):
    globals()[f"frame{_i}"] = pd.DataFrame(np.random.rand(2_000, 5)).assign(text="abc" if _i % 2 else 1)
array, items = np.zeros(1000), [1]
view, alias = array[::2], items
class Thing:
    def grow(self): items.append(1)
thing = Thing()`);
  expect(await changesOf(subject, 'frame7.iloc[1_234, 3] = 5.0')).toEqual({ ...NOTHING, changed: ['frame7'] });
  expect(await changesOf(subject, 'frame8["new"] = 1')).toEqual({ ...NOTHING, changed: ['frame8'] });
  expect(await changesOf(subject, 'view[3] = 1')).toEqual({ ...NOTHING, changed: ['array', 'view'] });
  expect(await changesOf(subject, 'thing.grow()')).toEqual({ ...NOTHING, changed: ['alias', 'items'] });
  expect(await changesOf(subject, 'thing.name = "x"')).toEqual({ ...NOTHING, changed: ['thing'] });
  expect(await changesOf(subject, 'frame9.describe(); frame9.text.unique()')).toEqual(NOTHING);
});

test('code that can reach everything says how much was not looked at', async () => {
  await using subject = await laboratory.open();
  await subject.run(
    'import numpy as np\nfor _i in range(200): globals()[f"array{_i}"] = np.zeros(500_000, dtype="u1") + _i % 7',
  );
  const { unseen = 0, changed } = await changesOf(subject, 'eval("array5").fill(3)');
  expect(unseen + changed.length).toBeGreaterThan(0);
  expect(unseen).toBeLessThan(200);
});

test('a change by a thread is told with the run that it happens beside or before', async () => {
  await using subject = await laboratory.open();
  await subject.run('items, other = [1], [2]');
  await subject.run(`
import threading
go, done, stop = threading.Event(), threading.Event(), threading.Event()
def work():
    go.wait(); items.append(2); done.set(); stop.wait()
threading.Thread(target=work).start()`);
  expect((await changesOf(subject, 'go.set(); done.wait()')).changed).toContain('items');
  await subject.run('stop.set()');
});

test('a change by a thread that ended between two runs is told with the second', async () => {
  await using subject = await laboratory.open();
  await subject.run('items = [1]');
  await subject.run(`
import os, threading, time
def _work():
    while not os.path.exists("go"): time.sleep(0.01)
    items.append(2)
    open("done", "w").close()
threading.Thread(target=_work).start()`);
  await writeFile(path.join(subject.session.workspace.path, 'go'), '');
  await vi.waitFor(() => access(path.join(subject.session.workspace.path, 'done')), 10_000);
  expect((await changesOf(subject, '1 + 1')).changed).toEqual(['items']);
});

test('a task that was left to run tells what it changed while another cell awaits', async () => {
  await using subject = await laboratory.open();
  await subject.run('import asyncio\nitems = [1]');
  await subject.run(`
async def work():
    await asyncio.sleep(0.2)
    items.append(2)
asyncio.ensure_future(work())
await asyncio.sleep(0)
pass`);
  const wait = 'await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})';
  expect((await changesOf(subject, wait)).changed).toContain('items');
});

test('showing a value makes nothing else suspicious', async () => {
  await using subject = await laboratory.open();
  await subject.run(
    'big = [[[n] * 50 for n in range(90)] for _ in range(200)]\nfor _i in range(200): globals()[f"b{_i}"] = big[_i]',
  );
  await subject.run('small = [1]');
  expect(await changesOf(subject, 'display(small); print(small)')).toEqual(NOTHING);
});

test('a file of the workspace that changes a variable when it is imported is noticed', async () => {
  await using subject = await laboratory.open();
  await subject.run(
    'open("first.py", "w").write("items = [1]")\nopen("second.py", "w").write("import first; first.items.append(2)")',
  );
  await subject.run('import first\nmine = first.items');
  expect(await changesOf(subject, 'import second')).toEqual({ ...NOTHING, changed: ['mine'] });
});
