/** The Python side's own unit tests, run by the Python that sessions will use. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, test } from 'vitest';
import { parseConfig } from '../src/config.ts';
import { choosePython } from '../src/host/local/python.ts';

const run = promisify(execFile);
const SIDE = path.resolve(import.meta.dirname, '..', 'python');

let python = '';
beforeAll(async () => {
  python = (await choosePython(parseConfig({}))).python;
});

for (const file of globSync('tests/**/test_*.py', { cwd: SIDE }).toSorted()) {
  const name = file.slice(0, -'.py'.length).replaceAll(path.sep, '.');
  test.concurrent(`${name} passes`, { timeout: 300_000 }, async ({ expect }) => {
    const report = await run(python, ['-B', '-m', 'unittest', name], { cwd: SIDE }).catch(
      (error: { stderr: string }) => error,
    );
    expect(report.stderr).toMatch(/^(OK|NO TESTS RAN)/mu);
  });
}
