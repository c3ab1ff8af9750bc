/** Everything that a run produced: values, figures, tables, files, and the text that a model sees of it. */
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInterpreter, forModel, type Interpreter, type Session } from '../../src/index.ts';

let interpreter: Interpreter;
let session: Session;
beforeAll(async () => {
  interpreter = await createInterpreter();
  session = await interpreter.createSession();
});
afterAll(() => interpreter.close());

const isPng = (base64: string | undefined): boolean => base64?.startsWith('iVBORw0KGgo') ?? false;

test('a sine plot comes back as a picture with the data behind it', async () => {
  const { results, outcome } = await session.runCode(`
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 10, 100)
y = np.sin(x)
plt.plot(x, y)
plt.title('Sine Wave')
plt.show()
`);
  expect(outcome.status).toBe('succeeded');
  expect(results).toHaveLength(1);
  expect(results[0]).toMatchObject({ kind: 'figure', title: 'Sine Wave', chart: { type: 'line', title: 'Sine Wave' } });
  expect(isPng(results[0]?.data['image/png'])).toBe(true);
});

test('a groupby is printed, and its tables are described', async () => {
  const { logs, dataframes } = await session.runCode(`
import pandas as pd
import numpy as np

# Create sample data
df = pd.DataFrame({
    'date': pd.date_range('2024-01-01', periods=30),
    'sales': np.random.randint(100, 1000, 30),
    'region': np.random.choice(['North', 'South', 'East'], 30)
})

# Analyze
summary = df.groupby('region')['sales'].agg(['mean', 'sum'])
print(summary)
`);
  expect(logs.stdout).toMatch(/mean\s+sum/u);
  expect(dataframes.map(({ name, rows, columnCount }) => ({ name, rows, columnCount }))).toEqual([
    { name: 'df', rows: 30, columnCount: 3 },
    { name: 'summary', rows: 3, columnCount: 2 },
  ]);
  expect(dataframes[0]?.columns.map(({ name }) => name)).toEqual(['date', 'sales', 'region']);
});

test('a regression prints its R², also where that is not ASCII', async () => {
  const { logs } = await session.runCode(`
from sklearn.model_selection import train_test_split
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
import numpy as np

X = np.arange(100).reshape(-1, 1)
y = 3 * X.ravel() + 7
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
model = LinearRegression().fit(X_train, y_train)
print(f"R² Score: {r2_score(y_test, model.predict(X_test)):.4f}")
`);
  expect(logs.stdout).toBe('R² Score: 1.0000\n');
});

test('a variable of an indented block comes back as a native value', async () => {
  const { value, error } = await session.runCode(
    `
    import pandas as pd
    df = pd.DataFrame({'value': [1, 2, 3]})
    summary = df.describe().to_dict()
    `,
    { resultVariable: 'summary' },
  );
  expect(error).toBeUndefined();
  expect(value).toMatchObject({ value: { count: 3, mean: 2, std: 1, min: 1, max: 3 } });
});

test('a bar chart that is saved is a file and a figure', async () => {
  const { results, files } = await session.runCode(`
import matplotlib.pyplot as plt
plt.bar(range(5), [3, 7, 2, 9, 5])
plt.savefig('chart.png')
`);
  expect(results).toMatchObject([{ kind: 'figure', chart: { type: 'bar' } }]);
  expect(files).toMatchObject([{ path: 'chart.png', mime: 'image/png', change: 'created' }]);
});

test('the figures of the tutorial are right', async () => {
  const { logs } = await session.runCode(`
import random, statistics
primes = [n for n in range(2, 50) if all(n % d for d in range(2, n))]
random.seed(42)
numbers = [random.randint(1, 100) for _ in range(20)]
print(sum(p * p for p in primes), statistics.mean(numbers), statistics.median(numbers), round(statistics.stdev(numbers), 2))
`);
  expect(logs.stdout).toBe('10466 43.2 30.5 34.63\n');
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
  const once = await interpreter.runOnce("open('data.csv', 'w').write('a,b\\n1,2\\n')");
  const [file] = once.files;
  const kept = await buffer(await interpreter.artifacts.open(file?.id ?? ''));
  expect(kept.toString()).toBe('a,b\n1,2\n');
  expect(interpreter.artifacts.find(file?.id ?? '')).toMatchObject({ name: 'data.csv', sha256: file?.sha256 });
});

test('files go into a session and come out of it', async () => {
  await session.files.upload('in/data.txt', 'from the host');
  const { logs, files } = await session.runCode(
    "print(open('in/data.txt').read()); open('in/answer.txt', 'w').write('back')",
  );
  expect(logs.stdout).toBe('from the host\n');
  expect(files.map((file) => file.path)).toEqual(['in/answer.txt']);
  expect((await buffer(await session.files.download('in/answer.txt'))).toString()).toBe('back');
  await session.files.remove('in/answer.txt');
  expect((await session.files.list()).files.map((file) => file.path)).not.toContain('in/answer.txt');
});

test('a 200 MB file is listed, hashed and downloaded with memory flat', async () => {
  await using own = await interpreter.createSession({ limits: { fileMb: 512 } });
  const before = process.memoryUsage().rss;
  const { files } = await own.runCode(
    "f = open('big.csv', 'w')\nfor _ in range(200): f.write('0123456789abcdef' * 65536)\nf.close()",
  );
  expect(files).toMatchObject([{ path: 'big.csv', sizeBytes: 200 * 2 ** 20 }]);
  expect(files[0]?.sha256).toMatch(/^[0-9a-f]{64}$/u);
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
  expect(text).toContain('report.txt (1 bytes)');
  expect(text).toContain('ZeroDivisionError: division by zero');
  expect(text).toContain('added total');
  expect(text).not.toContain('iVBOR');
});

test('MPLBACKEND of the host changes nothing', async () => {
  process.env['MPLBACKEND'] = 'TkAgg';
  try {
    await using own = await createInterpreter({ poolSize: 0, preload: [] });
    const { results } = await own.runOnce('import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()');
    expect(isPng(results[0]?.data['image/png'])).toBe(true);
  } finally {
    delete process.env['MPLBACKEND'];
  }
});
