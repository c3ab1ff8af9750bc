/** The directory with the user's files: what the code finds there, and what it may save. */
import { chmod, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { copyBack, copyIn } from '../../../src/tool/ipython/user-data.ts';
import { ActionStatusCode, IPythonInterpreter } from '../../../src/tools.ts';
import { host, open, textOf, workDir } from './lagent-laboratory.ts';

/** A directory of the user with a table in it. */
async function userData(name: string, mode = 0o755): Promise<string> {
  const directory = path.join(workDir, name);
  await mkdir(directory);
  await writeFile(path.join(directory, 'sales.csv'), '1,2');
  await chmod(path.join(directory, 'sales.csv'), mode & 0o666);
  await chmod(directory, mode);
  return directory;
}

const READ = 'open("sales.csv").read()';

test('L-03 LB-11 files of the user data directory are loaded by name, also as ENV says', async () => {
  const directory = await userData("o'data");
  expect(textOf(await open({ user_data_dir: directory }).run(READ))).toBe("'1,2'");
  expect(textOf(await open({ userDataDir: `${directory}/` }).run(READ))).toBe("'1,2'");
  process.env['USER_DATA_DIR'] = directory;
  onTestFinished(() => void delete process.env['USER_DATA_DIR']);
  expect(textOf(await open().run(READ))).toBe("'1,2'");
  expect(textOf(await open({ userDataDir: null }).run('import os; os.listdir()'))).toBe('[]');
  expect((await open({ userDataDir: '/none' }).run('1')).errmsg).toContain('user_data_dir /none');
  await expect(open({ userDataDir: '/none' }).runOrThrow('1')).rejects.toThrow(/user_data_dir \/none/);
});

const SAVE = `import os, matplotlib.pyplot as plt
os.makedirs("out", exist_ok=True)
plt.plot([float(n) for n in open("sales.csv").read().split(",")])
plt.savefig("chart.png"); plt.savefig("out/again.png"); plt.close()
open("sales.csv", "a").write(",3")`;

test.for([
  ['of everybody', 0o777],
  ['of root', 0o755],
  ['of root alone', 0o700],
] as const)('L-03 code saves beside the data of the user, in a directory %s', async ([kind, mode]) => {
  const directory = await userData(kind.replaceAll(' ', '-'), mode);
  const interpreter = open({ user_data_dir: directory });
  for (let time = 1; time <= 2; time += 1) {
    expect(await interpreter.run(SAVE)).toMatchObject({ state: ActionStatusCode.SUCCESS, errmsg: null });
  }
  for (const name of ['chart.png', 'out/again.png']) {
    expect((await readFile(path.join(directory, name))).subarray(1, 4).toString()).toBe('PNG');
  }
  expect(await readFile(path.join(directory, 'sales.csv'), 'utf8')).toBe('1,2,3,3');
  const { description } = await interpreter.toTool().define();
  const isShared = textOf(await interpreter.run('import os; os.getcwd()')) === `'${directory}'`;
  expect(description).toContain(isShared ? `current directory, ${directory}; files` : 'Copies of the user files');
  await using second = new IPythonInterpreter({ host, workDir, userDataDir: directory });
  expect(textOf(await second.run(`import os; (${READ}, sorted(os.listdir()))`))).toBe(
    "('1,2,3,3', ['chart.png', 'out', 'sales.csv'])",
  );
});

test('L-03 with userDataWritable: false the data can be read but not changed', async () => {
  const directory = await userData('closed', 0o777);
  const interpreter = open({ userDataDir: directory, userDataWritable: false });
  expect(textOf(await interpreter.run(`import os; (os.getcwd() == ${JSON.stringify(directory)}, ${READ})`))).toBe(
    "(True, '1,2')",
  );
  expect(textOf(await interpreter.run('open("new", "w")'))).toContain('Read-only file system');
  expect(interpreter.description.description).toContain(`can be read in the current directory, ${directory}`);
});

test('L-03 files that a session works on a copy of are copied in, and what it writes is copied back', async () => {
  const userFiles = { directory: await userData('copied', 0o700), access: 'copied' } as const;
  await mkdir(path.join(userFiles.directory, 'deep'));
  await writeFile(path.join(userFiles.directory, 'deep', 'more.csv'), '4');
  await writeFile(path.join(userFiles.directory, '.secret'), 'hidden files stay where they are');
  await using session = await host.createSession();
  await copyIn(userFiles, session);
  expect((await session.files.list()).files.map((file) => file.path)).toEqual(['deep/more.csv', 'sales.csv']);
  const execution = await session.runCode(`${SAVE}\nopen(".envrc", "w").write("x")`);
  expect(await copyBack(userFiles, execution, host.artifacts)).toEqual([
    expect.stringMatching(/^\.envrc was not copied to .*: .* is hidden/),
  ]);
  expect((await readdir(userFiles.directory, { recursive: true })).toSorted()).toEqual([
    '.secret',
    'chart.png',
    'deep',
    'deep/more.csv',
    'out',
    'out/again.png',
    'sales.csv',
  ]);
  expect(await readFile(path.join(userFiles.directory, 'sales.csv'), 'utf8')).toBe('1,2,3');
  await truncate(path.join(userFiles.directory, 'sales.csv'), 300_000_000);
  await expect(copyIn(userFiles, session)).rejects.toThrow(/4 files with \d+ bytes .*chown.*userDataWritable: false/);
});
