import { expect, test } from 'vitest';
import { fitJson } from './fit-json.ts';

test('JSON that fits is left alone', () => {
  const value = { stdout: 'a'.repeat(50), files: [1, 2, 3] };
  expect(fitJson(value, 200)).toBe(JSON.stringify(value));
});

test('a long text keeps its head and tail, and the JSON stays valid', () => {
  const fitted = fitJson({ stdout: `HEAD${'x"\n'.repeat(5000)}TAIL`, stderr: 'short' }, 2000);
  expect(fitted.length).toBeLessThanOrEqual(2000);
  expect(fitted.length).toBeGreaterThan(1500);
  const { stdout, stderr } = JSON.parse(fitted) as { stdout: string; stderr: string };
  expect(stdout).toMatch(/^HEAD[^]*\n… \d+ characters omitted …\n[^]*TAIL$/);
  expect(stderr).toBe('short');
});

test('texts give way before lists do, and paths stay whole', () => {
  const files = Array.from({ length: 8 }, (_, index) => ({
    path: `/data/${'d'.repeat(80)}/${index}.csv`,
    size: index,
  }));
  const fitted = JSON.parse(fitJson({ stdout: 'x'.repeat(20_000), files }, 2500)) as { files: unknown };
  expect(fitted.files).toEqual(files);
});

test('a list that does not fit keeps its first items and counts the others', () => {
  const files = Array.from({ length: 1000 }, (_, size) => ({ path: `/data/${size}.csv`, size }));
  const fitted = fitJson({ stdout: 'x'.repeat(20_000), files }, 2000);
  expect(fitted.length).toBeLessThanOrEqual(2000);
  const { files: kept } = JSON.parse(fitted) as { files: unknown[] };
  expect(kept[0]).toEqual(files[0]);
  expect(kept.at(-1)).toBe(`… ${1000 - (kept.length - 1)} more items omitted …`);
});

test('what cannot be made to fit is cut as text', () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`name${index}`, 'value']));
  expect(fitJson(many, 300)).toMatch(/^\{"name0"[^]*characters omitted[^]*"\}$/);
});
