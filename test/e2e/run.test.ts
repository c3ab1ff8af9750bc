/** `vivarium run` as Python runs a program: its arguments, its file, the files beside it, and what becomes of figures. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ENV, MAIN, scratch, vivarium } from '../support/command-line.ts';
import { Terminal } from '../support/terminal.ts';

const SHOW = 'import sys; print(sys.argv, globals().get("__file__"))';

test.for([
  ['-c', SHOW],
  ['-c', SHOW, 'a', 'b c', '--flag', '-c', '--json', "quo'te", 'é\\n\n'],
  ['-', 'a', '--echo', 'all', '--', '-'],
  ['-'],
])('sys.argv is that of python for %j', async (args) => {
  const input = args[0] === '-' ? SHOW : '';
  const expected = execFileSync('python3', args, { input, encoding: 'utf8' });
  expect(await vivarium(['run', ...args], { input })).toEqual({ code: 0, stdout: expected, stderr: '' });
});

test('a program gets its arguments, and what is before it is for vivarium', async () => {
  await using directory = await scratch();
  const file = path.join(directory.path, 'job.py');
  await writeFile(file, 'import sys; print(sys.argv)\nsys.argv[0]\n');
  const args = [file, 'a', '--echo', 'none', '--help', '-V'];
  const { code, stdout, stderr } = await vivarium(['run', '--echo', 'last', ...args]);
  const list = `['${args.join("', '")}']`;
  expect([code, stdout, stderr]).toEqual([0, `${list}\n'${file}'\n`, '']);
});

test('a program finds itself and the files beside it through __file__, also in processes that it starts', async () => {
  await using directory = await scratch();
  const [program, data] = [path.join(directory.path, 'job.py'), path.join(directory.path, 'data.txt')];
  await writeFile(data, '21');
  await writeFile(
    program,
    `
import multiprocessing, os
def double(number):
    return 2 * number
if __name__ == "__main__":
    assert os.path.isabs(__file__) and "def double" in open(__file__).read()
    number = int(open(os.path.join(os.path.dirname(__file__), "data.txt")).read())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(os.path.basename(__file__), pool.map(double, [number]))
`,
  );
  const finished = await vivarium(['run', '--file', data, '--file', program, program]);
  expect(finished).toEqual({ code: 0, stdout: 'job.py [42]\n', stderr: '' });
});

test('--file copies files and directories, under other names if asked, and leaves the originals alone', async () => {
  await using directory = await scratch();
  const [file, folder] = [path.join(directory.path, 'a.csv'), path.join(directory.path, 'data')];
  await mkdir(path.join(folder, 'deep'), { recursive: true });
  await writeFile(file, 'first');
  await writeFile(path.join(folder, 'deep/b.csv'), 'second');
  const code = `
import glob
print(sorted(glob.glob("**/*.csv", recursive=True)), open("a.csv").read(), open("data/deep/b.csv").read())
open("a.csv", "w").write("changed")`;
  const { code: exit, stdout } = await vivarium([
    'run',
    '--file',
    file,
    '--file',
    folder,
    '--file',
    `${file}=in/c.csv`,
    '-c',
    code,
  ]);
  expect([exit, stdout]).toEqual([0, "['a.csv', 'data/deep/b.csv', 'in/c.csv'] first second\n"]);
  expect(execFileSync('cat', [file], { encoding: 'utf8' })).toBe('first');
});

test('what was given is no product of the run, unless the run changes it', async () => {
  await using directory = await scratch();
  const [program, same, changed] = ['job.py', 'same.csv', 'changed.csv'].map((name) => path.join(directory.path, name));
  const out = path.join(directory.path, 'out');
  await writeFile(program ?? '', 'open("changed.csv", "a").write("2\\n"); open("new.csv", "w").write("3\\n")');
  for (const file of [same, changed]) await writeFile(file ?? '', '1\n');
  const given = ['--file', same ?? '', '--file', changed ?? ''];
  const kept = await vivarium(['run', ...given, '--output-dir', out, program ?? '']);
  expect([kept.code, (await readdir(out)).toSorted()]).toEqual([0, ['changed.csv', 'new.csv']]);
  const terminal = new Terminal([MAIN, 'run', ...given, program ?? ''], ENV);
  const said = await terminal.until('keeps files');
  expect(said).toContain('vivarium: changed.csv, new.csv: gone with the session; --output-dir DIR before the program');
  expect(await terminal.ended()).toBe(0);
});

test('a file that is too large, or has the name of the program, is refused in words that help', async () => {
  await using directory = await scratch();
  const [program, large] = [path.join(directory.path, 'job.py'), path.join(directory.path, 'large.bin')];
  await mkdir(path.join(directory.path, 'other'));
  await writeFile(program, 'print(1)');
  await writeFile(path.join(directory.path, 'other/job.py'), 'print(2)');
  await writeFile(large, '');
  await truncate(large, 2 ** 31);
  const tooLarge = await vivarium(['run', '--file', large, program]);
  expect([tooLarge.code, tooLarge.stdout]).toEqual([4, '']);
  expect(tooLarge.stderr).toMatch(
    /^error: Cannot copy --file .*large\.bin: a file may have \d+ MB\. .*--mount .*large\.bin:\/data/,
  );
  const sameName = await vivarium(['run', '--file', path.join(directory.path, 'other/job.py'), program]);
  expect([sameName.code, sameName.stdout]).toEqual([2, '']);
  expect(sameName.stderr).toContain('The program and a file would both be job.py in the session.');
});

const PLOT = 'import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()';

test.for([
  [PLOT, '1 figure was not saved; --output-dir DIR before the program keeps it'],
  [`${PLOT}\nplt.plot([3]); plt.show()`, '2 figures were not saved; --output-dir DIR before the program keeps them'],
])('figures that are lost are told: %s', async ([code, words]) => {
  const { code: exit, stderr } = await vivarium(['run', '-c', code ?? '']);
  expect([exit, stderr]).toEqual([0, `vivarium: ${words}\n`]);
});

test('figures that the program saves itself are not called unsaved', async () => {
  const code = 'import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.savefig("a.png"); plt.show()';
  expect((await vivarium(['run', '-c', code])).stderr).toBe('');
});
