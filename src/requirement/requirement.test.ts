import { expect, test } from 'vitest';
import { linesOfRequirements, readRequirement, readRequirements } from './requirement.ts';

test.for([
  ['polars', 'polars'],
  [' Polars==1.* ', 'polars'],
  ['ruamel.yaml', 'ruamel-yaml'],
  ['a_b[c, d]>=1,<2 ; python_version < "3.12"', 'a-b'],
  ['x (>=1.0)', 'x'],
  ['x~=1.0!=1.0.3', undefined],
  ['x==1.0+cu118', 'x'],
] as const)('%s is the package %s', ([text, name]) => {
  const read = readRequirement(text);
  expect(typeof read === 'string' ? undefined : read.name).toBe(name);
});

test.for([
  ['-e .', 'an option'],
  ['--index-url=http://x', 'an option'],
  ['git+https://example.org/x', 'an address'],
  ['x @ https://example.org/x.whl', 'an address'],
  ['https://example.org/x.whl', 'an address'],
  ['./x', 'a path'],
  ['/etc/passwd', 'a path'],
  ['x.whl', 'a path'],
  ['x y', 'not a requirement'],
  ['', 'not a requirement'],
  ['x; print(`a`)', 'not a requirement'],
  ['x\n-r y', 'on one line'],
  ['x'.repeat(501), 'longer than 500'],
] as const)('%s is refused: %s', ([text, words]) => {
  expect(readRequirement(text)).toContain(words);
});

test('of many requirements the first wrong one is told, and there cannot be too many', () => {
  expect(readRequirements(['a', '-b', '-c'])).toContain('"-b"');
  expect(readRequirements(Array.from({ length: 501 }, () => 'a'))).toContain('More than 500');
});

test('a requirements file is read by line, without comments, continuations and hashes', () => {
  const text = '\uFEFF# first\r\nx==1 \\\n  --hash=sha256:00\n\n  y # why\nz#not-a-comment\n-r other.txt\n';
  expect(linesOfRequirements(text)).toEqual(['x==1', 'y', 'z#not-a-comment', '-r other.txt']);
});
