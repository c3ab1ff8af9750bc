/** The page of lagent's interpreter as one program. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { Terminal } from '../../support/terminal.ts';
import { seedDirectory, seedProgram } from './program.ts';

test('L-01 to L-19 the documented page runs to its end, and its process ends by itself', async () => {
  const directory = seedDirectory();
  const terminal = new Terminal([seedProgram('lagent')], {}, { cwd: directory });
  const shown = await terminal.until('CTRL-D to end input.');
  terminal.type('a = 6\ra * 7\r\x04');
  const rest = (await terminal.until('── code_interpreter')) + (await terminal.until(']'));
  expect(await terminal.ended()).toBe(0);
  const stdout = stripVTControlCharacters(shown + rest).replaceAll('\r', '');
  const said = Object.fromEntries(
    stdout
      .split('── ')
      .slice(1)
      .map((part) => [/^(?:[\w/]+)(?: with a timeout)?/.exec(part)?.[0] ?? '', part.trim()]),
  );
  expect(said['START_CODE']).toContain("raise NotImplementedError('Python input() function is disabled.')");
  expect(said['TimeoutError']).toContain('true');
  expect(said['bases']).toContain('true IPythonInterpreter');
  expect(said['description']).toMatch(/time out after 20\.0 seconds.*'\/mnt\/data'.*Internet access .* is disabled/);
  expect(said['start_kernel']).toContain("1 { 'text/plain': '2' }");
  expect(said['run']).toContain("true true [ { type: 'text', content: '10.0' } ]");
  expect(said['run with a timeout']).toContain('true Timeout. No response after 1 seconds.');
  expect(said['input']).toContain('NotImplementedError: Python input() function is disabled.');
  expect(said['shell']).toContain('Assume we have this package, ! is disabled!');
  expect(said['/mnt/data']).toContain('kept');
  expect(said['internet']).toMatch(/URLError|OSError/);
  expect(said['parser']).toContain("content: '10.0'");
  expect(said['reset']).toContain("content: 'False'");
  expect(said['extract_code']).toContain('print("hello")');
  expect(said['escape_ansi']).toBe('escape_ansi red');
  expect(said['code_interpreter']).toContain("content: '42'");

  const images = readdirSync(path.join(directory, 'work_dir/tmp_dir'));
  expect(images).toHaveLength(2);
  for (const image of images) {
    const file = path.join(directory, 'work_dir/tmp_dir', image);
    expect(readFileSync(file).subarray(1, 4).toString()).toBe('PNG');
    expect(stdout).toContain(`work_dir/tmp_dir/${image}`);
  }
});
