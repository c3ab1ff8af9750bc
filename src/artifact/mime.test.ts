import { expect, test } from 'vitest';
import { decodeForm, extensionOf, mimeOf, PLOTLY } from './mime.ts';

test.for([
  ['a/b.CSV', 'text/csv'],
  ['table.parquet', 'application/vnd.apache.parquet'],
  ['notebook.ipynb', 'application/x-ipynb+json'],
  ['config.yml', 'application/yaml'],
  ['module.py', 'text/x-python'],
  ['plot.svg', 'image/svg+xml'],
  ['data.tar.gz', 'application/gzip'],
  ['notes.md', 'text/markdown'],
  ['png', 'application/octet-stream'],
  ['.png', 'application/octet-stream'],
  ['dir.png/file', 'application/octet-stream'],
  ['x.unheard-of', 'application/octet-stream'],
] as const)('%s is %s', ([name, type]) => {
  expect(mimeOf(name)).toBe(type);
});

test.for([
  ['image/png', '.png'],
  ['image/jpeg', '.jpg'],
  ['image/svg+xml', '.svg'],
  ['image/gif', '.gif'],
  ['image/webp', '.webp'],
  [PLOTLY, '.plotly.json'],
  ['image/x-unheard-of', '.png'],
] as const)('a figure of type %s is saved as %s', ([type, extension]) => {
  expect(extensionOf(type)).toBe(extension);
});

test('images come as base64, everything else as text', () => {
  expect(decodeForm('image/png', 'AQI=')).toEqual(Buffer.from([1, 2]));
  expect(decodeForm('image/svg+xml', '<svg/>').toString()).toBe('<svg/>');
  expect(decodeForm(PLOTLY, '{}').toString()).toBe('{}');
});
