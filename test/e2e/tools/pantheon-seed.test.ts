/** The snippets of Pantheon's documentation, as one program at a terminal that nobody closes. */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { OpenAIServer, toolResults } from '../../support/openai-server.ts';
import { Terminal } from '../../support/terminal.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../../examples/seeds/pantheon.ts');
const LAST = '── returning values';

const EXPECTED = [
  /── run_python_code \{ success: true, result: 3, stdout: '3\\n', stderr: '' \}/,
  /── auto-recovery true BrokenProcessPool: .*\.\.\./,
  /── create true string/,
  /── list true running/,
  /── delete true/,
  /── state persistence 20/,
  /── client isolation 10/,
  /── matplotlib \.matplotlib_figs\/[0-9a-f-]{36}\.png data:image\/png;base64,/,
  /── the file exists true/,
  /── data analysis \n\s+mean\s+sum\nregion/,
  /── machine learning LinearRegression\(\)\nR² Score: \d\.\d{4}/,
];

test('P-06 P-13 to P-24 the documented program runs to its end, and its process ends by itself', async () => {
  await using server = await OpenAIServer.start((request) =>
    toolResults(request).length === 0
      ? { calls: [{ name: 'run_python_code', arguments: { code: 'print(6 * 7)' } }] }
      : { text: 'It is 42.' },
  );
  const directory = mkdtempSync(path.join(tmpdir(), 'viv-seed-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  chmodSync(directory, 0o755);
  const terminal = new Terminal([PROGRAM], server.environment, { cwd: directory });
  await terminal.until('> ');
  terminal.type('What is six times seven?\n');
  await terminal.until('It is 42.');
  terminal.type('exit\n');
  const said = stripVTControlCharacters(await terminal.until(LAST)).replaceAll('\r', '');
  for (const words of EXPECTED) expect(said).toMatch(words);
  expect(await terminal.until('\n')).toContain('"count":3');
  expect(await terminal.ended()).toBe(0);
  expect(readdirSync(path.join(directory, '.matplotlib_figs'))).toHaveLength(1);
});
