import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERROR_CODES } from './errors.ts';

const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8');
const sections = page.split(/^## /m).slice(1);

test('docs/errors.md documents every code and no other, in the order of the table', () => {
  const documented = [...page.matchAll(/^## `(\w+)`$/gm)].map(([, code]) => code);
  expect(documented).toEqual(Object.keys(ERROR_CODES));
});

test('every section gives the HTTP status and exit code of the table', () => {
  const given = sections.map((section) => section.match(/HTTP (?<status>\d+), exit code (?<exitCode>\d+)/)?.groups);
  const expected = Object.values(ERROR_CODES).map(({ status, exitCode }) => ({
    status: String(status),
    exitCode: String(exitCode),
  }));
  expect(given.map((numbers) => ({ ...numbers }))).toEqual(expected);
});

test('every section says what happened, why, and what to do', () => {
  for (const section of sections) expect(section).toMatch(/What happened:[^]+Why:[^]+What to do:/);
});

test('every code has a hint, in one line that follows "hint: "', () => {
  for (const { hint } of Object.values(ERROR_CODES)) expect(hint).toMatch(/^[a-z`][^\n]+[^.\n]$/);
});
