/** All interpreters of a toolset share one workdir, including files that existed before. */
import { chmod, chown, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host } from '../../../src/index.ts';
import { PythonInterpreterToolSet } from '../../../src/tools.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [] });
});
afterAll(() => host?.close());

function open(workdir: string): PythonInterpreterToolSet {
  const toolset = new PythonInterpreterToolSet({ name: 'python', host, workdir });
  onTestFinished(() => toolset.close());
  return toolset;
}

async function directory(mode: number): Promise<string> {
  const made = await realpath(await mkdtemp(path.join(os.tmpdir(), 'toolset-')));
  await chmod(made, mode);
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

const as = (client_id: string) => ({ context: { client_id } });
const append = (text: string) => `open("out.csv", "a").write(${JSON.stringify(text)}); open("out.csv").read()`;

test('X-21 P-03 clients change what the others wrote, also when those are gone', async () => {
  const workdir = await directory(0o777);
  const toolset = open(workdir);
  const { stdout } = await toolset.run_python_code(
    'import os; os.mkdir("sub"); open("sub/a", "w").write("1")',
    as('a'),
  );
  expect(stdout).toBe('1\n');
  expect((await toolset.run_python_code(append('a'), as('a'))).stdout).toBe('1\na\n');
  expect((await toolset.run_python_code(append('b'), as('b'))).stdout).toBe('1\nab\n');
  expect((await toolset.run_python_code('open("sub/b", "w").write("2")', as('b'))).success).toBe(true);
  for (const { id } of (await toolset.list_interpreters()).interpreters ?? []) await toolset.delete_interpreter(id);
  expect((await toolset.run_python_code(append('a'), as('a'))).stdout).toBe('1\naba\n');
  await toolset.close();
  expect((await open(workdir).run_python_code(append('c'))).stdout).toBe('1\nabac\n');
});

test('P-50 a figure that was captured does not keep others from saving theirs', async () => {
  const toolset = open(await directory(0o777));
  const plot = 'plt.plot([1]); plt.show()';
  expect((await toolset.run_python_code(plot, as('a'))).fig_storage_path).toBeDefined();
  const save = 'plt.plot([1]); plt.savefig(GLOBAL_FIG_DIR + "/x.png")';
  expect(await toolset.run_python_code(save, as('b'))).toMatchObject({ success: true, stderr: '' });
});

test.runIf(process.getuid?.() === 0)('P-03 in a workdir of a user, files are those of the user', async () => {
  const workdir = await directory(0o755);
  await writeFile(path.join(workdir, 'out.csv'), 'x');
  await chown(workdir, 12_345, 12_345);
  await chown(path.join(workdir, 'out.csv'), 12_345, 12_345);
  expect((await open(workdir).run_python_code(append('y'))).stdout).toBe('1\nxy\n');
  await open(workdir).run_python_code('open("new", "w").write("1")');
  expect((await stat(path.join(workdir, 'new'))).uid).toBe(12_345);
});

test.runIf(process.getuid?.() === 0)('P-03 a workdir of root that only root may write works for root', async () => {
  const workdir = await directory(0o755);
  await writeFile(path.join(workdir, 'out.csv'), 'x', { mode: 0o600 });
  const toolset = open(workdir);
  expect((await toolset.run_python_code(append('y'))).stdout).toBe('1\nxy\n');
  const made = await toolset.run_python_code('os.makedirs("sub"); open("sub/new", "w").write("1"); os.getuid()');
  expect(made).toMatchObject({ success: true, stdout: '1\n1000\n' });
  const { uid, mode } = await stat(path.join(workdir, 'sub', 'new'));
  expect({ uid, mode: mode & 0o7777 }).toEqual({ uid: 0, mode: 0o644 });
  const plotted = await toolset.run_python_code('plt.plot([1]); plt.show()');
  expect((await readFile(path.join(workdir, plotted.fig_storage_path ?? ''))).length).toBeGreaterThan(0);
});

test.runIf(process.getuid?.() === 0)('P-03 code cannot leave a program that runs as root', async () => {
  const toolset = open(await directory(0o755));
  const attempts = [
    'os.chmod("out", 0o4755)',
    'os.fchmod(os.open("out", os.O_RDONLY), 0o4755)',
    'os.open("made", os.O_CREAT | os.O_WRONLY, 0o4755)',
    'os.mknod("node", 0o104755)',
  ];
  await toolset.run_python_code('open("out", "w").write("1")');
  for (const attempt of attempts) {
    expect((await toolset.run_python_code(attempt)).stderr, attempt).toContain('PermissionError');
  }
  expect((await toolset.run_python_code('os.chmod("out", 0o755)')).success).toBe(true);
});

test.runIf(process.getuid?.() === 0)('X-21 workdirs of root have a user each, and it is never root', async () => {
  const owners = await Promise.all(
    [await directory(0o777), await directory(0o777)].map(async (workdir) => {
      await open(workdir).run_python_code('open("a", "w").write("1")');
      return (await stat(path.join(workdir, 'a'))).uid;
    }),
  );
  expect(new Set([...owners, 0]).size).toBe(3);
});
