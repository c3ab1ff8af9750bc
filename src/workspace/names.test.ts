import { expect, test } from 'vitest';
import { decodeName, isDraftName, isPlainPath, makeDraftName, parsePath, showName } from './names.ts';

test.for<[path: string, reason: string]>([
  ['', 'a part of it is empty'],
  ['a//b', 'a part of it is empty'],
  ['a/', 'a part of it is empty'],
  ['/', 'it is absolute'],
  ['//a', 'it is absolute'],
  ['/etc/passwd', 'a part of it is empty'],
  ['.', 'it contains "."'],
  ['a/./b', 'it contains "."'],
  ['../a', 'it contains ".."'],
  ['a/..', 'it contains ".."'],
  ['x'.repeat(256), 'too long or not plain text'],
  ['ż'.repeat(128), 'too long or not plain text'],
  ['a\u0000b', 'too long or not plain text'],
  ['half\ud800', 'too long or not plain text'],
])('the path %j cannot be used, and the error says why', ([path, reason]) => {
  expect(() => parsePath(path)).toThrow(reason);
  expect(() => parsePath(path)).toThrow(expect.objectContaining({ code: 'FILE_REFUSED' }) as Error);
  expect(isPlainPath(path)).toBe(false);
});

test.for<[path: string, parents: string[], name: string]>([
  ['a', [], 'a'],
  ['a/b/c.csv', ['a', 'b'], 'c.csv'],
  ['...', [], '...'],
  ['.hidden/..a', ['.hidden'], '..a'],
  ['a b/ż🐍', ['a b'], 'ż🐍'],
  ['C:\\x', [], 'C:\\x'],
  ['x'.repeat(255), [], 'x'.repeat(255)],
])('the path %j leads through %j to %j', ([path, parents, name]) => {
  expect(parsePath(path)).toEqual({ parents, name });
  expect(isPlainPath(path)).toBe(true);
});

test('an error shows the path without what could deceive, and not all of a long one', () => {
  expect(() => parsePath('a\u202Eb\n/..')).toThrow(String.raw`"a\u{202e}b\u{a}/.."`);
  expect(() => parsePath('x'.repeat(100_000))).toThrow(/^.{0,500}$/);
});

test('every character that could deceive is refused in names and shown as its number', () => {
  const deceptive = [
    0, 7, 10, 0x1b, 0x7f, 0x85, 0x9f, 0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069,
  ];
  for (const code of deceptive) {
    const name = Buffer.from(`a${String.fromCodePoint(code)}b`);
    expect(decodeName(name)).toBeNull();
    expect(showName(name)).toBe(`a\\u{${code.toString(16)}}b`);
  }
  for (const code of [0x20, 0x7e, 0xa0, 0x200d, 0x2027, 0x202f, 0x2065, 0x206a]) {
    const text = `a${String.fromCodePoint(code)}b`;
    expect([decodeName(Buffer.from(text)), showName(Buffer.from(text))]).toEqual([text, text]);
  }
});

test('every byte that is not text is shown as its number', () => {
  for (let byte = 0x80; byte <= 0xff; byte += 1) {
    const name = Buffer.from([0x61, byte]);
    expect(decodeName(name)).toBeNull();
    expect(showName(name)).toBe(`a\\x${byte.toString(16)}`);
  }
  expect(showName(Buffer.from([0xff, 0x1f, 0x20, 0x7e, 0x7f]))).toBe(String.raw`\xff\x1f ~\x7f`);
});

test('drafts have names that no two uploads share, and only these are drafts', () => {
  const names = Array.from({ length: 100 }, makeDraftName);
  expect(new Set(names).size).toBe(100);
  expect(names.every(isDraftName)).toBe(true);
  const others = [
    '.upload-',
    '.upload-0123456789abcde',
    '.upload-0123456789abcdef0',
    'x.upload-0123456789abcdef',
    '.upload-0123456789ABCDEF',
  ];
  expect(others.filter(isDraftName)).toEqual([]);
});

test('a path has so many parts at most: each is a step that holds up everybody', () => {
  const most = Array(256).fill('d').join('/');
  expect(parsePath(most).parents).toHaveLength(255);
  expect(() => parsePath(`d/${most}`)).toThrow(/it has more than 256 parts/);
  expect([isPlainPath(most), isPlainPath(`d/${most}`)]).toEqual([true, false]);
});
