import { expect, test } from 'vitest';
import { decodeForm, extensionOf, isImage, mimeOf, PLOTLY } from './mime.ts';

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

test.for([
  ['archive.bz2', 'application/x-bzip2'],
  ['data.db', 'application/vnd.sqlite3'],
  ['data.sqlite', 'application/vnd.sqlite3'],
  ['letter.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['sheet.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['slides.PPTX', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['frame.feather', 'application/vnd.apache.arrow.file'],
  ['tensor.h5', 'application/x-hdf5'],
  ['favicon.ico', 'image/vnd.microsoft.icon'],
  ['lines.jsonl', 'application/jsonl'],
  ['all.tar', 'application/x-tar'],
  ['a.yaml', 'application/yaml'],
  ['page.html', 'text/html'],
  ['x.json', 'application/json'],
  ['', 'application/octet-stream'],
  ['name.', 'application/octet-stream'],
  ['constructor.constructor', 'application/octet-stream'],
  ['a.__proto__', 'application/octet-stream'],
  ['a/.hidden/b.txt', 'text/plain'],
] as const)('%s, which programs that work with data write, is %s', ([name, type]) => {
  expect(mimeOf(name)).toBe(type);
});

test('only pictures are images, and an SVG is one', () => {
  for (const mime of ['image/png', 'image/svg+xml']) expect(isImage({ mime })).toBe(true);
  for (const mime of ['text/plain', PLOTLY, 'application/image/png', '']) expect(isImage({ mime })).toBe(false);
});
