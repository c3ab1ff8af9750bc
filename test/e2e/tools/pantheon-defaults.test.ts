/** The toolset as a program uses it that passes no options: where it works, what comes back, and what it is told. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../exit/program.ts';
import { open } from './pantheon-laboratory.ts';

const program = (options = ''): string => `import { existsSync } from 'node:fs';
  import { PythonInterpreterToolSet } from 'vivarium/tools';
  const tools = new PythonInterpreterToolSet({ name: 'python', ${options} });
  const show = (value) => console.log(JSON.stringify(value));
  show((await tools.run_python_code('import os; print(os.getcwd())')).stdout.trim());
  show((await tools.run_python_code('open("made.txt", "w").write("1")')).success);
  const { fig_storage_path: stored } = await tools.run_python_code('plt.plot([1, 2]); plt.show()');
  show([stored.replace(/[0-9a-f-]{36}/, 'ID'), existsSync(stored)]);
  console.log('end');`;

test.for([
  ['', false],
  ['workdirWritable: true', true],
] as const)(
  'P-03 P-15 without a workdir code works in the current directory, figures are found from there, and %j lets code change it: %j',
  async ([options, isWritable]) => {
    const { stdout, stderr, code, directory } = await runProgram(program(options));
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const work = path.join(directory, 'work');
    const lines = [JSON.stringify(work), `${isWritable}`, '[".matplotlib_figs/ID.png",true]', 'end', ''];
    expect(stdout.split('\n')).toEqual(lines);
    expect(existsSync(path.join(work, 'made.txt'))).toBe(isWritable);
  },
);

test('P-03 a current directory that holds more than the program is not shared, which is told', async () => {
  const { stdout, stderr, directory } = await runProgram(`process.chdir('..'); ${program()}`);
  expect(stdout).toMatch(/^"\/workspace"\ntrue\n/);
  expect(stderr).toContain('[VIVARIUM_WORKDIR]');
  expect(stderr).toContain(`do not work in the current directory ${directory}, because it holds ${directory}/tmp`);
  expect(existsSync(path.join(directory, 'made.txt'))).toBe(false);
});

test('P-03 a current directory that sessions could not even read is not shared, which is told', async ({ skip }) => {
  if (process.getuid?.() !== 0) return skip('only root has sessions of other users');
  const { stdout, stderr, code } = await runProgram(
    `import { chmodSync } from 'node:fs'; chmodSync('.', 0o700); ${program()}`,
  );
  expect({ code, stdout: stdout.split('\n').slice(0, 2) }).toEqual({ code: 0, stdout: ['"/workspace"', 'true'] });
  expect(stderr).toContain('because only its owner may read it');
});

test('P-03 a current directory of which a part is mounted is not shared as a whole', async () => {
  const { stdout, stderr, code, directory } = await runProgram(
    `import { mkdirSync } from 'node:fs';
    import { PythonInterpreterToolSet } from 'vivarium/tools';
    mkdirSync('data');
    const mounts = [{ source: process.cwd() + '/data', target: '/mnt/given' }];
    const tools = new PythonInterpreterToolSet({ name: 'python', mounts });
    console.log((await tools.run_python_code('import os; print(os.getcwd(), os.listdir("/mnt"))')).stdout);`,
  );
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\/workspace \[.*'given'/);
  expect(stderr).toContain(`because the mount ${directory}/work/data overlaps with it`);
});

test('P-03 a current directory that sessions can only read is told, and figures are in it all the same', async ({
  skip,
}) => {
  if (process.getuid?.() !== 0) return skip('only root has sessions of other users');
  const place = mkdtempSync(path.join(tmpdir(), 'viv-overlay-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  for (const name of ['lower', 'upper', 'work', 'merged']) mkdirSync(path.join(place, name));
  const layers = ['lower', 'upper', 'work'].map((name) => `${name}dir=${path.join(place, name)}`).join();
  const merged = path.join(place, 'merged');
  try {
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, merged], { stdio: 'ignore' });
  } catch {
    return skip('no overlayfs here');
  }
  onTestFinished(() => void execFileSync('umount', [merged]));
  const { stdout, stderr, code } = await runProgram(
    `process.chdir(process.env.MERGED); ${program('workdirWritable: true')}`,
    {
      env: { MERGED: merged },
    },
  );
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(0, 3)).toEqual([JSON.stringify(merged), 'false', '[".matplotlib_figs/ID.png",true]']);
  expect(stderr).toContain(`can only read the current directory ${merged}: it belongs to root, and its file system`);
});

test('P-04 without an engine nothing is started before the first interpreter', async () => {
  const made = `import { PythonInterpreterToolSet } from 'vivarium/tools';
    const tools = new PythonInterpreterToolSet({ name: 'python' });
    console.log((await tools.manage_interpreters({ operation: 'list' })).interpreters.length);`;
  const env = { VIVARIUM_HOME: '/dev/null/none' }; // where no host can start
  expect(await runProgram(made, { env })).toMatchObject({ code: 0, stdout: '0\n', stderr: '' });
  const used = await runProgram(`${made} await tools.new_interpreter();`, { env });
  expect(used).toMatchObject({ code: 1, stderr: expect.stringContaining('/dev/null/none') as unknown });
});

test('P-20 a Python without the promised libraries is told, with the way to get them', async () => {
  const place = mkdtempSync(path.join(tmpdir(), 'viv-bare-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  chmodSync(place, 0o755);
  execFileSync('python3', ['-m', 'venv', '--without-pip', place]);
  const { stdout, stderr, code } = await runProgram(
    `import { createHost } from 'vivarium';
    import { PythonInterpreterToolSet } from 'vivarium/tools';
    const host = await createHost({ python: process.env.BARE_PYTHON });
    const tools = new PythonInterpreterToolSet({ name: 'python', host });
    console.log((await tools.run_python_code('print(6 * 7)')).stdout);
    await tools.manage_interpreters({ operation: 'create' });
    console.log('end');`,
    { env: { BARE_PYTHON: path.join(place, 'bin', 'python') } },
  );
  expect({ code, answered: stdout.includes('42') }).toEqual({ code: 0, answered: true });
  expect(stderr.match(/\[VIVARIUM_MISSING_LIBRARIES\]/g)).toHaveLength(1);
  const { names } = /Toolset python: Missing: (?<names>.*?)\. .*pip install/s.exec(stderr)?.groups ?? {};
  const promised = 'pandas, numpy, scipy, matplotlib, seaborn, plotly, scikit-learn, statsmodels';
  expect(names?.split(', ')).toEqual(expect.arrayContaining(promised.split(', ')));
});

test('P-13 P-19 a large value comes back whole', async () => {
  const toolset = open();
  const { result, stderr, stdout } = await toolset.run_python_code('x = list(range(300_000))', {
    result_var_name: 'x',
  });
  expect({ stderr, stdout }).toEqual({ stderr: '', stdout: '' });
  expect(result).toEqual(Array.from({ length: 300_000 }, (_, index) => index));
  const text = await toolset.run_python_code('x = {"text": "é" * 600_000}', { result_var_name: 'x' });
  expect(text.result).toEqual({ text: 'é'.repeat(600_000) });
  expect((await toolset.run_python_code('import os; os.listdir("/workspace")')).stdout).not.toContain('results-');
});

test('P-13 a value that is too large says so with numbers, and the limit can be raised', async () => {
  const code = 'x = ["0123456789"] * 300_000';
  const cut = await open({ maxResultMb: 1 }).run_python_code(code, { result_var_name: 'x' });
  expect(cut.success).toBe(true);
  expect(cut.result).toMatchObject({ _type: 'truncated', type: 'list', length: 300_000 });
  expect(cut.stderr).toMatch(
    /^"result" is cut: with the list of 300000 in it, \d+ of it is here, "x" is more than comes back \(1 MB, 40 levels\)\. Return less, or raise `maxResultMb`\.$/,
  );
  const whole = await open({ maxResultMb: 8 }).run_python_code(code, { result_var_name: 'x' });
  expect(whole.stderr).toBe('');
  expect(whole.result).toHaveLength(300_000);
});
