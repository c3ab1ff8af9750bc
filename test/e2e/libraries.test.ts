/** The libraries that set-up promises are there in a session, and do there what programs expect of them. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIBRARY_SETS, moduleOf } from '../../src/environment/library-sets.ts';
import { LOCKS_DIR } from '../../src/environment/managed.ts';
import { createHost, type Host, type Session } from '../../src/index.ts';

let host: Host;
let session: Session;
beforeAll(async () => {
  host = await createHost();
  session = await host.createSession({ limits: { timeoutMs: 300_000 } });
});
afterAll(() => host.close());

/** The text of the last result of code that succeeds. */
async function valueOf(code: string): Promise<string | undefined> {
  const execution = await session.runCode(code);
  expect(execution.outcome).toEqual({ status: 'succeeded' });
  return execution.results.at(-1)?.data['text/plain'];
}

test('the tests run on the full set', () => {
  expect(host.environment).toMatchObject({ source: 'managed', set: 'full', missing: [] });
});

test('every library of the full set can be imported in a session', async () => {
  const modules = LIBRARY_SETS.full.map((name) => moduleOf(name));
  const failures = await valueOf(`
import importlib, json
failures = {}
for name in json.loads('${JSON.stringify(modules)}'):
    try: importlib.import_module(name)
    except BaseException as error: failures[name] = repr(error)
failures`);
  expect(failures).toBe('{}');
});

test('libraries that are not preloaded are not loaded in a new session', async () => {
  await using fresh = await host.createSession();
  const { results } = await fresh.runCode(`
import sys
[name for name in ('polars', 'duckdb', 'numba', 'altair', 'cv2', 'IPython', 'sympy', 'xgboost') if name in sys.modules]`);
  expect(results[0]?.data['text/plain']).toBe('[]');
});

test('a plot with text of many scripts has neither boxes nor warnings', async () => {
  const execution = await session.runCode(`
import matplotlib.pyplot as plt
plt.title('日本語 中文 한국어 العربية हिन्दी 😀')
plt.plot([1, 2])`);
  expect(execution.outcome.status).toBe('succeeded');
  expect(execution.logs).toEqual({ stdout: '', stderr: '' });
  expect(execution.figures).toHaveLength(1);
});

test('a chart of Altair is a figure with its data, kept as a picture', async () => {
  const execution = await session.runCode(`
import altair as alt, pandas as pd
alt.Chart(pd.DataFrame({'x': ['a', 'b'], 'y': [1, 2]}), title='Two bars').mark_bar().encode(x='x', y='y')`);
  const data = execution.results[0]?.data ?? {};
  const type = Object.keys(data).find((mime) => mime.startsWith('application/vnd.vegalite.'));
  const { datasets } = JSON.parse(data[type ?? ''] ?? '{}') as { datasets: Record<string, unknown> };
  expect(Object.values(datasets)).toEqual([
    [
      { x: 'a', y: 1 },
      { x: 'b', y: 2 },
    ],
  ]);
  expect(data['image/png']).toMatch(/^iVBOR/);
  expect(execution.figures).toEqual([expect.objectContaining({ title: 'Two bars', mime: 'image/png' })]);
});

describe('tables of other libraries', () => {
  test('are told as those of pandas are', async () => {
    const { dataframes } = await session.runCode(`
import polars as pl, duckdb, pyarrow as pa
people = pl.DataFrame({'name': ['Ada', 'Bob'], 'age': [36, None]})
arrow = people.to_arrow()
adults = duckdb.sql('select * from arrow where age > 18')`);
    const sorted = dataframes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const told = sorted.map(({ name, rows, columnCount, columns }) => [
      name,
      rows,
      columnCount,
      columns.map((column) => column.name),
    ]);
    const columns = ['name', 'age'];
    expect(told).toEqual([
      ['adults', 1, 2, columns],
      ['arrow', 2, 2, columns],
      ['people', 2, 2, columns],
    ]);
  });

  test('are noticed when they change in place', async () => {
    const { state } = await session.runCode(`people[1, 'age'] = 40`);
    expect(state.variables?.changed).toEqual(['people']);
  });
});

test('the page about libraries lists the sets with the versions of the locks', async () => {
  const page = await readFile(new URL('../../docs/libraries.md', import.meta.url), 'utf8');
  const lock = await readFile(new URL('full/3.13.txt', `file://${LOCKS_DIR}/`), 'utf8');
  const rows = [...page.matchAll(/^\| `([\w-]+)` +\| ([\w.]+) +\| `(\w+)` /gm)];
  const versions = new Map([...lock.matchAll(/^([\w-]+)==(\S+)/gm)].map(([, name = '', version]) => [name, version]));
  expect(rows.map(([, name]) => name)).toEqual([...LIBRARY_SETS.full]);
  for (const [, name = '', version, module] of rows) {
    expect([name, version, module]).toEqual([name, versions.get(name), moduleOf(name)]);
  }
  expect(page).toContain(`${LIBRARY_SETS.full.length} libraries`);
});
