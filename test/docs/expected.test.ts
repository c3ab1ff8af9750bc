import { describe, expect, test } from 'vitest';
import { hasLines, matchesOutput, promisedLines } from './expected.ts';
import { cellsOf, isServed, linksOf, snippetsOf } from './pages.ts';
import { withoutSetUpLines } from './set-up-lines.ts';

describe('output', () => {
  test('is compared character by character', () => {
    expect(matchesOutput('42\n', '42\n')).toBe(true);
    expect(matchesOutput('43\n', '42\n')).toBe(false);
    expect(matchesOutput('42\nand more\n', '42\n')).toBe(false);
    expect(matchesOutput('', '42\n')).toBe(false);
  });

  test('may differ where a page has an ellipsis: in a line, or over lines', () => {
    expect(matchesOutput('id 7f3a done\n', 'id … done\n')).toBe(true);
    expect(matchesOutput('id 7f\n3a done\n', 'id … done\n')).toBe(false);
    expect(matchesOutput('first\nsecond\nlast\n', 'first\n…\nlast\n')).toBe(true);
    expect(matchesOutput('first\nlast\n', 'first\n…\nlast\n')).toBe(true);
  });

  test('has every line that a comment promises, in order', () => {
    const promised = promisedLines('console.log(1); // prints 1\nprint(2)  # prints 2\n');
    expect(promised).toEqual(['1', '2']);
    expect(hasLines('1\nbetween\n2\n', promised)).toBe(true);
    expect(hasLines('2\n1\n', promised)).toBe(false);
    expect(hasLines('', promised)).toBe(false);
  });
});

describe('a page', () => {
  test('has snippets with the output that follows them', () => {
    const text = 'Text\n\n```ts\nconsole.log(1);\n```\n\n```text\n1\n```\n';
    expect(snippetsOf('page.md', text)).toEqual([
      { language: 'ts', line: 4, code: 'console.log(1);\n', output: '1\n' },
    ]);
  });

  test('is refused with a block that nothing runs, and with output that belongs to nothing', () => {
    expect(() => snippetsOf('page.md', '```\nplain\n```\n')).toThrow('page.md:2');
    expect(() => snippetsOf('page.md', '```rust\nfn main() {}\n```\n')).toThrow('rust');
    expect(() => snippetsOf('page.md', '```text\n1\n```\n')).toThrow('page.md:2');
    expect(() => snippetsOf('page.md', '```sh\ntrue\n```\n\nIt prints:\n\n```text\n1\n```\n')).toThrow('page.md:8');
  });

  test('is served if it says `vivarium serve` by itself', () => {
    const served = (script: string): boolean =>
      isServed({ file: 'page.md', name: 'page', text: '', snippets: [{ language: 'sh', line: 1, code: script }] });
    expect(served('vivarium serve # in another terminal\n')).toBe(true);
    expect(served('vivarium serve --port 0 &\nvivarium doctor\n')).toBe(false);
    expect(withoutSetUpLines('vivarium serve\nexport VIVARIUM_URL=http://127.0.0.1:8000\nls\n')).toBe('ls\n');
  });

  test('has cells and links', () => {
    expect(cellsOf('| a | `b \\| c` |\n')).toEqual([
      { line: 1, cell: 'a' },
      { line: 1, cell: '`b \\| c`' },
    ]);
    expect(linksOf('[a](b.md#c) [d](https://e.example) <img src="f.svg">')).toEqual(['b.md#c', 'f.svg']);
  });
});

test('only declared set-up lines are left out of a script', () => {
  expect(withoutSetUpLines('npm install vivarium\nvivarium doctor\nnpm run bench -- --quick\n')).toBe(
    'vivarium doctor\n',
  );
});
