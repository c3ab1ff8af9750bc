import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { Config, defaultDataDir, Limits, parseConfig } from './config.ts';

const PAGE = readFileSync(new URL('../docs/options.md', import.meta.url), 'utf8');

/** Names in the first column of the table below a heading. */
function documented(heading: string): string[] {
  const section = PAGE.split(/^## /mu).find((part) => part.startsWith(heading)) ?? '';
  return [...section.matchAll(/^\| `(\w+)`\s+\|/gmu)].map(([, name]) => name ?? '');
}

test('docs/options.md lists every option and every limit, in order, and no other', () => {
  assert.deepEqual(documented('Interpreter'), Object.keys(Config.shape));
  assert.deepEqual(documented('Limits'), Object.keys(Limits.shape));
});

test('docs/options.md gives the defaults of every limit', () => {
  for (const [name, value] of Object.entries(parseConfig({}, {}).limits)) {
    assert.match(PAGE, new RegExp(`\\| \`${name}\`\\s+\\| \`${value}\`\\s+\\|`, 'u'));
  }
});

test('an unknown option is an error that names it', () => {
  assert.throws(() => parseConfig({ timeoutMS: 5 } as object, {}), { code: 'CONFIG_INVALID', message: /timeoutMS/u });
});

test('a wrong value is an error that names the option', () => {
  assert.throws(() => parseConfig({ limits: { memoryMb: 'much' as never } }, {}), {
    code: 'CONFIG_INVALID',
    message: /limits\.memoryMb/u,
  });
});

test('the data directory follows VIVARIUM_HOME, then XDG, then HOME', () => {
  assert.equal(defaultDataDir({ VIVARIUM_HOME: '/v', XDG_DATA_HOME: '/x', HOME: '/h' }), '/v');
  assert.equal(defaultDataDir({ XDG_DATA_HOME: '/x', HOME: '/h' }), '/x/vivarium');
  assert.equal(defaultDataDir({ HOME: '/h' }), '/h/.local/share/vivarium');
});
