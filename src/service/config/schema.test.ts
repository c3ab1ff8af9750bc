import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { keysOf } from './schema.ts';
import { ConfigurationSchema } from './schema.ts';

const PAGE = readFileSync(new URL('../../../docs/service-config.md', import.meta.url), 'utf8');

test('docs/service-config.md has every key with its default and meaning, in order, and no other', () => {
  const rows = [...PAGE.matchAll(/^\| `(?<name>[\w.]+)`\s*\|(?<default>.*?)\|(?<meaning>.*)\|$/gmu)].map(({ groups }) =>
    [groups?.['name'], groups?.['default'], groups?.['meaning']].map((cell) => cell?.trim()),
  );
  const keys = keysOf(ConfigurationSchema).map(({ name, defaultValue, description }) => [
    name,
    defaultValue === undefined
      ? ''
      : `\`${typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue)}\``,
    description,
  ]);
  expect(rows).toEqual(keys);
});
