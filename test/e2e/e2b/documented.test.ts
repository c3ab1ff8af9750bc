/** docs/e2b.md has every call of E2B's SDK, with what becomes of it here. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Sandbox } from '@e2b/code-interpreter';
import { Sandbox as BaseSandbox } from 'e2b';
import { expect, test } from 'vitest';

const PAGE = readFileSync(path.resolve(import.meta.dirname, '../../../docs/e2b.md'), 'utf8');
/** What the SDK has for itself. */
const PRIVATE = new Set([
  'constructor',
  'resolveApiOpts',
  'resolveOpts',
  'fileUrl',
  'handleRequestError',
  'getJupyterRequestUrl',
  'createSandbox',
  'forkSandbox',
  'connectSandbox',
]);

/** Rows that are about more than one method. */
const OTHERS = ['git.*', 'Template', 'Volume', 'Secret', 'network', 'iam', 'mcp', 'volumeMounts'];

/** The first column of the table, name by name. */
const documented = new Set(
  [...PAGE.matchAll(/^\| (?<calls>`[^|]+) \| (?<here>[^|]+) \|$/gmu)].flatMap(({ groups }) =>
    [...(groups?.['calls'] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''),
  ),
);

function methodsOf(prototype: object): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => typeof value === 'function' && !PRIVATE.has(name))
    .map(([name]) => name);
}

/** The SDK makes its parts without asking anybody. */
const sandbox = new Sandbox({ sandboxId: 'x', envdVersion: '0.6.1', apiKey: 'x', sandboxUrl: 'http://localhost' });

test('every method of a sandbox has a row', () => {
  const methods = [...methodsOf(Sandbox.prototype), ...methodsOf(BaseSandbox.prototype)];
  expect(methods.filter((name) => !documented.has(name))).toEqual([]);
});

test('every static method has a row', () => {
  const api = Object.getPrototypeOf(BaseSandbox) as object;
  const methods = [...methodsOf(BaseSandbox), ...methodsOf(api)].map((name) => `Sandbox.${name}`);
  expect(methods.filter((name) => !documented.has(name))).toEqual([]);
});

test.each(['files', 'commands', 'pty'] as const)('every method of `%s` has a row', (part) => {
  const methods = methodsOf(Object.getPrototypeOf(sandbox[part]) as object).filter((name) => name !== 'start');
  expect(methods.map((name) => `${part}.${name}`).filter((name) => !documented.has(name))).toEqual([]);
});

test('every row is about something that the SDK has', () => {
  const known = [
    ...OTHERS,
    ...methodsOf(Sandbox.prototype),
    ...methodsOf(BaseSandbox.prototype),
    ...[...methodsOf(BaseSandbox), ...methodsOf(Object.getPrototypeOf(BaseSandbox) as object)].map(
      (n) => `Sandbox.${n}`,
    ),
    ...(['files', 'commands', 'pty'] as const).flatMap((part) =>
      methodsOf(Object.getPrototypeOf(sandbox[part]) as object).map((name) => `${part}.${name}`),
    ),
  ];
  const table = PAGE.slice(PAGE.indexOf('## What works'), PAGE.indexOf('## Code'));
  const calls = [...table.matchAll(/^\| (?<calls>`[^|]+) \|/gmu)].flatMap(({ groups }) =>
    [...(groups?.['calls'] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''),
  );
  expect(calls.filter((name) => !known.includes(name))).toEqual([]);
});
