import { expect, test } from 'vitest';
import { contextCell, figuresCell, resultsCell } from './context-cell.ts';
import { codeCell, createNotebook, markdownCell, rawCell } from './nbformat.ts';

const OPTIONS = { pythonVersion: '3.12.1' };

test('a notebook names its format, its kernel and its language', () => {
  expect(createNotebook([], { ...OPTIONS, kernelName: 'science', title: 'T' })).toMatchObject({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: { kernelspec: { name: 'science' }, language_info: { name: 'python', version: '3.12.1' }, title: 'T' },
    cells: [],
  });
});

test('sources are lines that keep their ends, and nothing of them is lost', () => {
  for (const text of ['', 'a', 'a\n', 'a\n\nb', '\n\n', 'a\r\nb\rc\u2028d\0\u001B[1m']) {
    const { source } = codeCell('id', text);
    expect(source.join('')).toBe(text);
    expect(source.every((line, index) => line.endsWith('\n') || index === source.length - 1)).toBe(true);
  }
  expect(codeCell('id', 'a\nb').source).toEqual(['a\n', 'b']);
});

test('ids are valid, unique, and the same each time', () => {
  const long = 'x'.repeat(100);
  const cells = ['a', 'a', 'a', 'a-2', 'sp ace', '', long, long].map((id) => rawCell(id, ''));
  const ids = createNotebook(cells, OPTIONS).cells.map(({ id }) => id);
  expect(new Set(ids).size).toBe(cells.length);
  for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9-_]{1,64}$/);
  expect(ids.slice(0, 5)).toEqual(['a', 'a-2', 'a-3', 'a-2-2', 'sp-ace']);
  expect(createNotebook(cells, OPTIONS).cells.map(({ id }) => id)).toEqual(ids);
});

test('attachments are there only where there are any', () => {
  expect(markdownCell('m', 'text')).not.toHaveProperty('attachments');
  expect(markdownCell('m', 'text', { 'a.png': { 'image/png': 'AA' } })).toHaveProperty('attachments');
});

test('lone surrogates become their escapes, so that the file can be written', () => {
  expect(markdownCell('m', 'a\uD800b 🐍').source).toEqual([String.raw`a\ud800b 🐍`]);
});

test('cells of a request quote the paths that they are given', () => {
  const context = contextCell('c', { loader: 'def load_context(path): ...\n', path: '../a "b"\\.json' });
  expect(context.source.at(-1)).toBe(String.raw`context = load_context("../a \"b\"\\.json")`);
  expect(resultsCell('r', 'results.json').source).toContain(
    'results = json.loads(Path("results.json").read_text(encoding="utf-8"))\n',
  );
  expect(figuresCell('f', ['figures/a b>.png']).source.at(-1)).toBe('![figures/a b\\>.png](<figures/a%20b%3E.png>)');
});
