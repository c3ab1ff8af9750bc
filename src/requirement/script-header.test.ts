import { expect, test } from 'vitest';
import { dependenciesInHeader } from './script-header.ts';

function header(...lines: string[]): string {
  return [
    '#!/usr/bin/env python3',
    '# /// script',
    ...lines.map((line) => `# ${line}`.trimEnd()),
    '# ///',
    '',
    'x = 1',
  ].join('\n');
}

test('the dependencies of a header are read as TOML has them', () => {
  const code = header(
    'requires-python = ">=3.11"',
    'dependencies = [',
    '  "requests<3", # for ] requests',
    "  'rich[extra]',",
    '  "caf\\u00e9",',
    ']',
    '',
    '[tool.other]',
    'dependencies = ["no"]',
  );
  expect(dependenciesInHeader(code)).toEqual(['requests<3', 'rich[extra]', 'café']);
  expect(dependenciesInHeader(code.replaceAll('\n', '\r\n'))).toHaveLength(3);
});

test('a program without a header, with several or with an open one asks for nothing', () => {
  const one = header('dependencies = ["x"]');
  expect(dependenciesInHeader(one)).toEqual(['x']);
  for (const code of [
    'import x',
    header('requires-python = ">=3"'),
    `${one}\n${one}`,
    one.replace('# ///\n', ''),
    '',
  ]) {
    expect(dependenciesInHeader(code)).toEqual([]);
  }
});
