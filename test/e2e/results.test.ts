/** Everything that a run produced: values, figures, tables, files, and the text that a model sees of it. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, forModel, type Host, type Session } from '../../src/index.ts';

let host: Host;
let session: Session;
beforeAll(async () => {
  host = await createHost();
  session = await host.createSession();
});
afterAll(() => host.close());

const isPng = (base64: string | undefined): boolean => base64?.startsWith('iVBORw0KGgo') ?? false;

const worked = (name: string): string =>
  readFileSync(new URL(`../../examples/worked/${name}.py`, import.meta.url), 'utf8');

test('a sine plot comes back as a picture with the data behind it', async () => {
  const { results, figures, outcome } = await session.runCode(worked('sine-plot'));
  expect(outcome.status).toBe('succeeded');
  expect(results).toHaveLength(1);
  expect(results[0]).toMatchObject({ kind: 'figure', title: 'Sine Wave', chart: { type: 'line', title: 'Sine Wave' } });
  expect(isPng(results[0]?.data['image/png'])).toBe(true);
  expect(figures).toMatchObject([{ result: 0, mime: 'image/png', title: 'Sine Wave' }]);
});

test('a groupby is printed, and its tables are described', async () => {
  const { logs, dataframes } = await session.runCode(worked('sales-by-region'));
  expect(logs.stdout).toMatch(/mean\s+sum/u);
  expect(dataframes.map(({ name, rows, columnCount }) => ({ name, rows, columnCount }))).toEqual([
    { name: 'df', rows: 30, columnCount: 3 },
    { name: 'summary', rows: 3, columnCount: 2 },
  ]);
  expect(dataframes[0]?.columns.map(({ name }) => name)).toEqual(['date', 'sales', 'region']);
});

test('a regression prints its R², also where that is not ASCII', async () => {
  const { logs } = await session.runCode(worked('regression'));
  expect(logs.stdout).toMatch(/^R² Score: 0\.\d{4}\n$/u);
});

test('a variable of an indented block comes back as a native value', async () => {
  const { value, error } = await session.runCode(worked('returned-summary'), { resultVariable: 'summary' });
  expect(error).toBeUndefined();
  expect(value).toMatchObject({ a: { count: 3, mean: 2, std: 1, min: 1, max: 3 }, b: { mean: 5 } });
});

test('a bar chart that is saved is a file and one figure', async () => {
  const { results, figures, files } = await session.runCode(worked('bar-chart'));
  expect(results).toMatchObject([{ kind: 'figure', chart: { type: 'bar' } }]);
  expect(figures).toMatchObject([{ result: 0, path: 'chart.png', chart: { type: 'bar' } }]);
  expect(files).toMatchObject([{ path: 'chart.png', mime: 'image/png', change: 'created' }]);
});

test('the figures of the tutorial are right', async () => {
  const { logs } = await session.runCode(worked('tutorial-figures'));
  expect(logs.stdout).toBe('10466\n43.2 30.5 34.63\n');
});

test('the worked examples run as they are', async () => {
  const example = fileURLToPath(new URL('../../examples/worked-examples.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [example]);
  expect(stdout).toMatch(/── bar-chart.py\n\[figure: bar chart, saved as chart.png\]/);
  expect(stdout).toMatch(/── sine-plot.py\n\[figure "Sine Wave": line chart\]/);
  expect(stdout).toMatch(/summary = \{"a":\{"count":3/);
});

test('a figure that was saved and closed is a figure all the same', async () => {
  const { results, figures, files } = await session.runCode(`
import matplotlib.pyplot as plt
import os
os.makedirs('out', exist_ok=True)
plt.pie([1, 2], labels=['a', 'b']); plt.title('shares'); plt.savefig('/mnt/data/out/pie.svg'); plt.close()
plt.plot([1, 2]); plt.show()
`);
  expect(results).toHaveLength(1);
  expect(files).toMatchObject([{ path: 'out/pie.svg' }]);
  expect(figures).toMatchObject([
    { result: 0, mime: 'image/png' },
    { path: 'out/pie.svg', mime: 'image/svg+xml', title: 'shares', chart: { type: 'pie' } },
  ]);
  expect(figures[1]?.result).toBeUndefined();
  expect(figures[1]?.id).toBe(files[0]?.id);
});

test('a figure is kept by its id when its session is gone', async () => {
  const { figures, results } = await host.runOnce(worked('sine-plot'));
  const content = await buffer(await host.artifacts.open(figures[0]?.id ?? ''));
  expect(content.toString('base64')).toBe(results[0]?.data['image/png']);
  expect(createHash('sha256').update(content).digest('hex')).toBe(figures[0]?.sha256);
});

test('what is printed and what is shown come in the order of the program', async () => {
  const told: string[] = [];
  const code = `
import sys
for n in range(50):
    print('before', n)
    display(n)
    sys.stderr.write(f'after {n}\\n')
'the end'`;
  for await (const event of session.stream(code)) {
    if (event.type === 'output') told.push(...event.text.trimEnd().split('\n'));
    if (event.type === 'result') told.push(event.result.data['text/plain'] ?? '');
  }
  const expected = Array.from({ length: 50 }, (_, n) => [`before ${n}`, `${n}`, `after ${n}`]).flat();
  expect(told).toEqual([...expected, "'the end'"]);
  const { transcript, results } = await session.runCode(code);
  const kept = transcript.map((entry) =>
    entry.type === 'text' ? entry.text.trimEnd() : results[entry.index]?.data['text/plain'],
  );
  expect(kept).toEqual(told);
  expect(transcript.map(({ timeMs }) => timeMs)).toEqual(
    transcript.map(({ timeMs }) => timeMs).toSorted((a, b) => a - b),
  );
});

test('output that is too long to be told is in a file, for the next run and for later', async () => {
  await using small = await host.createSession({ limits: { outputBytes: 2000, spillMb: 1 } });
  const execution = await small.runCode(`for n in range(2000): print(n)`);
  const { path = '', id = '', sizeBytes } = execution.spills?.stdout ?? {};
  expect(execution.truncated?.stdout).toEqual({ totalBytes: 8890, keptBytes: 2000 });
  expect(sizeBytes).toBe(8890);
  expect(execution.files).toEqual([]);
  expect(forModel(execution)).toContain(`8890 bytes were printed, 2000 kept; all of it is in ${path}`);
  const next = await small.runCode(`len(open(${JSON.stringify(path)}).read())`);
  expect(next.results[0]?.data['text/plain']).toBe('8890');
  expect(next.files).toEqual([]);
  expect((await buffer(await host.artifacts.open(id))).length).toBe(8890);
});

test('output of which a model is told only a part is whole in a file that it finds from any directory', async () => {
  await using talker = await host.createSession();
  const execution = await talker.runCode(`
import os, sys
os.makedirs('sub'); os.chdir('sub')
for n in range(40_000): print(n)
sys.stderr.write('e' * 4500)`);
  expect(execution.truncated).toBeUndefined();
  const text = forModel(execution);
  const [, path = ''] = /characters omitted …[^]*\(all of it is in (\S+)\)\n\[stderr\]/u.exec(text) ?? [];
  expect(path).toBe('/workspace/.output/run-1.stdout.txt');
  expect(text).toContain('(all of it is in /workspace/.output/run-1.stderr.txt)');
  const next = await talker.runCode(`len(open(${JSON.stringify(path)}).read())`);
  expect(next.results[0]?.data['text/plain']).toBe('228890');
  const quiet = await talker.runCode("print('x' * 3000); sys.stderr.write('y' * 500); None");
  expect(quiet.spills).toBeUndefined();
});

test('where no later run can read it, the kept copy is named', async () => {
  const execution = await host.runOnce('for n in range(2000): print(n)');
  const { path, id = '' } = execution.spills?.stdout ?? {};
  expect(path).toBeUndefined();
  expect(forModel(execution)).toContain(`(all of it is kept as artifact ${id})`);
  expect((await buffer(await host.artifacts.open(id))).length).toBe(8890);
});

test('a file that is uploaded while code runs is not its doing, and hides nothing that is', async () => {
  await using busy = await host.createSession();
  await busy.runCode('1');
  let written: string[] = [];
  const code = `
import os, time
open('mine.txt', 'w').write('x')
print('written', flush=True)
while not os.path.exists('go'): time.sleep(0.005)
open('later.txt', 'w').write('y')`;
  for await (const event of busy.stream(code)) {
    if (event.type === 'output') await busy.files.upload('go', 'now');
    if (event.type === 'file') written = [...written, event.file.path];
  }
  expect(written).toEqual(['later.txt', 'mine.txt']);
  expect((await busy.runCode('x = 1')).files).toEqual([]);
});

test('an upload that the workspace has no room for is refused, and harms no run', async () => {
  await using small = await host.createSession({ limits: { workspaceMb: 4 } });
  const refusal = { code: 'FILE_TOO_LARGE', message: expect.stringContaining('workspaceMb') as unknown };
  await expect(small.files.upload('big', Buffer.alloc(5 << 20))).rejects.toMatchObject(refusal);
  await small.files.upload('half', Buffer.alloc(3 << 20));
  await expect(small.files.upload('rest', Buffer.alloc(2 << 20))).rejects.toMatchObject(refusal);
  const { outcome, results } = await small.runCode('import os; sorted(os.listdir())');
  expect({ outcome, results }).toMatchObject({
    outcome: { status: 'succeeded' },
    results: [{ data: { 'text/plain': "['half']" } }],
  });
});

test('such files have a limit too, and make room for newer ones', async () => {
  await using small = await host.createSession({ limits: { outputBytes: 2000, spillMb: 1 } });
  const first = await small.runCode(`print('x' * 3_000_000)`);
  expect(first.truncated?.stdout).toMatchObject({ totalBytes: 3_000_001 });
  expect(first.spills?.stdout).toMatchObject({ sizeBytes: 2 ** 20, isCut: true });
  expect(forModel(first)).toContain('the first 1048576 bytes are in /workspace/.output/run-1.stdout.txt');
  const second = await small.runCode(`import sys; sys.stderr.write('y' * 5000); None`);
  expect(second.spills?.stderr?.path).toBe('/workspace/.output/run-2.stderr.txt');
  expect((await small.files.list()).files.map(({ path }) => path)).toEqual(['.output/run-2.stderr.txt']);
});

test('three figures, one of them shown twice, a plotly and a seaborn one: five pictures, in order, each once', async () => {
  const { results } = await session.runCode(`
import matplotlib
import matplotlib.pyplot as plt
import plotly.express as px
import seaborn as sns
first = plt.figure(); plt.plot([1, 2]); plt.title('first'); plt.show()
first.show()
second = plt.figure(); plt.plot([2, 1]); plt.title('second')
third = plt.figure(); plt.scatter([1, 2], [3, 4]); plt.title('third')
px.line(x=[1, 2], y=[3, 4], title='plotly').show()
plt.figure(); axes = sns.barplot(x=['a', 'b'], y=[1, 2]); axes.set_title('seaborn');
`);
  expect(results).toHaveLength(5);
  const titles = results.map(({ title }) => title);
  expect(titles.filter((title) => title === 'first')).toHaveLength(1);
  expect(titles.indexOf('second')).toBeLessThan(titles.indexOf('third'));
  expect(titles.indexOf('third')).toBeLessThan(titles.indexOf('seaborn'));
  expect(results.filter(({ data }) => 'application/vnd.plotly.v1+json' in data)).toHaveLength(1);
  expect(results.filter(({ data }) => isPng(data['image/png']))).toHaveLength(4);
});

test('figures before an error are kept', async () => {
  const { results, error } = await session.runCode('import matplotlib.pyplot as plt; plt.plot([1]); plt.show(); 1 / 0');
  expect(error?.name).toBe('ZeroDivisionError');
  expect(results).toMatchObject([{ kind: 'figure' }]);
});

test('display and the last value come in order, as MIME bundles', async () => {
  const { results } = await session.runCode(`
display({'a': 1})
class Shown:
    def _repr_html_(self): return '<b>shown</b>'
display(Shown())
6 * 7`);
  expect(results.map(({ kind }) => kind)).toEqual(['display', 'display', 'result']);
  expect(results[1]?.data['text/html']).toBe('<b>shown</b>');
  expect(results[2]?.data).toEqual({ 'text/plain': '42' });
});

test('only files that the run wrote are listed, and looking writes none', async () => {
  await session.runCode("open('first.txt', 'w').write('one')");
  const { files } = await session.runCode("open('second.txt', 'w').write('two'); open('first.txt', 'a').write('!')");
  expect(files.map((file) => [file.path, file.change])).toEqual([
    ['first.txt', 'changed'],
    ['second.txt', 'created'],
  ]);
  expect((await session.runCode('1 + 1')).files).toEqual([]);
});

test('artifacts outlive their session and are found by id', async () => {
  const once = await host.runOnce("open('data.csv', 'w').write('a,b\\n1,2\\n')");
  const [file] = once.files;
  const kept = await buffer(await host.artifacts.open(file?.id ?? ''));
  expect(kept.toString()).toBe('a,b\n1,2\n');
  expect(await host.artifacts.get(file?.id ?? '')).toMatchObject({ name: 'data.csv', sha256: file?.sha256 });
});

test('files go into a session and come out of it', async () => {
  await session.files.upload('in/data.txt', 'from the host');
  const { logs, files } = await session.runCode(
    "print(open('in/data.txt').read()); open('in/answer.txt', 'w').write('back')",
  );
  expect(logs.stdout).toBe('from the host\n');
  expect(files.map((file) => file.path)).toEqual(['in/answer.txt']);
  expect((await buffer(await session.files.download('in/answer.txt'))).toString()).toBe('back');
  const listed = (await session.files.list()).files;
  expect(listed.map((file) => file.path)).toEqual(listed.map((file) => file.path).toSorted());
  expect(listed).toContainEqual({
    path: 'in/answer.txt',
    sizeBytes: 4,
    mime: 'text/plain',
    modifiedAt: expect.any(Date) as Date,
  });
  await session.files.remove('in/answer.txt');
  expect((await session.files.list()).files.map((file) => file.path)).not.toContain('in/answer.txt');
});

test('a 200 MB file is listed, hashed and downloaded with memory flat', async () => {
  await using own = await host.createSession({ limits: { fileMb: 512 } });
  const before = process.memoryUsage().rss;
  const { files } = await own.runCode(
    "f = open('big.csv', 'w')\nfor _ in range(200): f.write('0123456789abcdef' * 65536)\nf.close()",
  );
  expect(files).toMatchObject([{ path: 'big.csv', sizeBytes: 200 * 2 ** 20 }]);
  expect((await host.artifacts.get(files[0]?.id ?? '')).sha256).toMatch(/^[0-9a-f]{64}$/u);
  let bytes = 0;
  for await (const chunk of await own.files.download('big.csv')) bytes += (chunk as Buffer).length;
  expect(bytes).toBe(200 * 2 ** 20);
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * 2 ** 20);
});

test('hostile values cost neither the host nor the session', async () => {
  const { outcome } = await session.runCode(
    `
class Evil:
    def __repr__(self): raise SystemExit('no')
    def _repr_html_(self): return 5
    def _repr_png_(self): return 'not bytes'
    def __getattr__(self, name): raise MemoryError
evil = Evil()
display(evil)
evil`,
    { resultVariable: 'evil' },
  );
  expect(outcome.status).toBe('succeeded');
  const hanging = await session.runCode('class Slow:\n    def __repr__(self):\n        while True: pass\nSlow()', {
    timeoutMs: 300,
  });
  expect(hanging.outcome.status).toBe('timed-out');
  expect((await session.runCode('40 + 2')).results[0]?.data['text/plain']).toBe('42');
});

test('JSON data becomes variables, whatever it contains', async () => {
  const data = {
    text: 'quotes " and \\ and\nlines, ü, \u2028, "); import os',
    list: [1, null, true, 1.5],
    deep: { a: [{}] },
  };
  await session.setVariables({ data, größe: 3 });
  const { value, results } = await session.runCode('größe', { resultVariable: 'data' });
  expect(value).toEqual(data);
  expect(results[0]?.data['text/plain']).toBe('3');
  await expect(session.setVariables({ 'a b': 1 })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

test('a link to a file of the host is not read', async () => {
  const { files } = await session.runCode("import os; os.symlink('/etc/shadow', 'link'); open('real', 'w').write('x')");
  expect(files.map((file) => file.path)).toEqual(['real']);
});

test('a model sees text, names and the error, and no base64', async () => {
  const execution = await session.runCode(`
import matplotlib.pyplot as plt
print('\\x1b[31mred\\x1b[0m')
total = 3
plt.plot([1, 2]); plt.title('Growth'); plt.show()
open('report.txt', 'w').write('x')
total / 0`);
  const text = forModel(execution);
  expect(text).toContain('red');
  expect(text).not.toContain('\x1b');
  expect(text).toContain('[figure "Growth": line chart]');
  expect(text).toContain('report.txt (1 byte)');
  expect(text).toContain('ZeroDivisionError: division by zero');
  expect(text).toContain('added total');
  expect(text).not.toContain('iVBOR');
});

test('MPLBACKEND of the host changes nothing', async () => {
  process.env['MPLBACKEND'] = 'TkAgg';
  try {
    await using own = await createHost({ poolSize: 0, preload: [] });
    const { results } = await own.runOnce('import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()');
    expect(isPng(results[0]?.data['image/png'])).toBe(true);
  } finally {
    delete process.env['MPLBACKEND'];
  }
});

test('all rows of a table come out as CSV or Parquet, and the session is as it was', async () => {
  await using own = await host.createSession();
  await own.runCode(`
import pandas as pd
table = pd.DataFrame({'n': range(100_000), 'name': ['a,"b"'] * 100_000})
series = table['n']`);
  const csv = await own.exportTable('table');
  expect(csv).toMatchObject({ name: 'table.csv', mime: 'text/csv' });
  const rows = (await buffer(await host.artifacts.open(csv.id))).toString().trimEnd().split('\n');
  expect([rows.length, rows[0], rows.at(-1)]).toEqual([100_001, 'n,name', '99999,"a,""b"""']);
  const parquet = await own.exportTable('table', { format: 'parquet' });
  const magic = (await buffer(await host.artifacts.open(parquet.id))).subarray(0, 4).toString();
  expect(magic).toBe('PAR1');
  expect((await own.files.list()).files).toEqual([]);
  await own.rollback(); // undoes the run above, since exports are not runs
  await expect(own.exportTable('series')).rejects.toThrow(
    '"series" is not a DataFrame of this session. There is none.',
  );
});

test('a table whose export crashes costs nothing but the export', async () => {
  await using own = await host.createSession({ limits: { timeoutMs: 2000 } });
  await own.runCode(`
import ctypes, pandas as pd
class Evil:
    def __str__(self): return ctypes.string_at(0) if is_armed else 'evil'
is_armed = False
table = pd.DataFrame({'evil': [Evil()]})`);
  await own.runCode('is_armed = True; kept = 41');
  await expect(own.exportTable('table')).rejects.toMatchObject({ code: 'TABLE_UNAVAILABLE' });
  const { results, state } = await own.runCode('kept + 1');
  expect(results[0]?.data['text/plain']).toBe('42');
  expect(state).toMatchObject({ status: 'preserved', earlier: { status: 'restored' } });
});
