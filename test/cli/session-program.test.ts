import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { introduce, readProgram } from '../../src/cli/session/program.ts';
import { CommandContext } from '../support/command-context.ts';

async function programFile(name: string): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-program-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await writeFile(path.join(directory, name), 'print(1)\n');
  return path.join(directory, name);
}

test('the first operand is the program, unless there is code', async () => {
  const file = await programFile('job.py');
  expect(await readProgram([file, 'a', '-x'], undefined, new CommandContext())).toEqual({
    code: 'print(1)\n',
    filename: file,
    argv: [file, 'a', '-x'],
    file: { path: file, name: 'job.py' },
  });
  const given = await readProgram([file, 'a'], 'print(2)', new CommandContext());
  expect(given).toEqual({ code: 'print(2)', filename: '<string>', argv: ['-c', file, 'a'] });
  const piped = await readProgram(['-', 'a'], undefined, new CommandContext({ input: 'print(3)' }));
  expect(piped).toEqual({ code: 'print(3)', filename: '<stdin>', argv: ['-', 'a'] });
});

test('a program whose name no workspace can hold is run without a copy', async () => {
  const file = await programFile('odd\nname.py');
  const program = await readProgram([file], undefined, new CommandContext());
  expect(program).toMatchObject({ argv: [file], filename: file.replace('\n', '?') });
  expect(program).not.toHaveProperty('file');
  expect(introduce(program)).not.toContain('__file__');
});

test('arguments are literals, whatever is in them', () => {
  const argv = ['-c', '"; import os; "', '\\', "'\n\0é\ud800"];
  const [line, ...rest] = introduce({ code: '', filename: '<string>', argv }).split('\n');
  expect(rest).toEqual([]);
  expect(JSON.parse(line?.slice(line.indexOf('= ') + 2) ?? '')).toEqual(argv);
});
