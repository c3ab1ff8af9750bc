/** Packages on the command line: what the user names, and what the header of a program asks for. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startIndex } from '../../support/packages/index-server.ts';
import { makeDataDir } from '../../support/packages/scene.ts';
import { makeWheel } from '../../support/packages/wheel.ts';

const MAIN = path.resolve(import.meta.dirname, '../../../src/cli/main.ts');

test('a command installs what its user names, and what a program asks for if that is allowed', async () => {
  const { dataDir, python, remove } = await makeDataDir();
  onTestFinished(remove);
  const index = await startIndex({ alpha: [makeWheel({ name: 'alpha', files: { 'alpha.py': 'value = "alpha"\n' } })] });
  onTestFinished(() => index.close());
  const folder = mkdtempSync(path.join(tmpdir(), 'vivarium-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = path.join(folder, 'program.py');
  writeFileSync(program, '# /// script\n# dependencies = ["alpha"]\n# ///\nimport alpha\nprint(alpha.value)\n');
  const run = (...args: readonly string[]): Promise<string> => {
    const common = ['--data-dir', dataDir, 'run', '--python', python, '--package-index', index.url];
    return new Promise((resolve) => {
      execFile(process.execPath, [MAIN, ...common, ...args], (_, stdout, stderr) => resolve(stdout + stderr));
    });
  };
  expect(await run('--with', 'alpha==1.*', '-c', 'import alpha; print(alpha.value)')).toBe('alpha\n');
  expect(await run(program)).toContain('asks for alpha, which is not installed. Allow it with --packages alpha');
  expect(await run('--packages', 'alpha', program)).toBe('alpha\n');
});
