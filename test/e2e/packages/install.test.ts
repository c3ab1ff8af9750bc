/** Packages on demand: every way to ask for them ends in the same place, and sessions keep their state meanwhile. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost, type Host, type Session, type SessionOptions } from '../../../src/index.ts';
import { startIndex, type IndexServer } from '../../support/packages/index-server.ts';
import { compiledWheel, makeDataDir } from '../../support/packages/scene.ts';
import { makeWheel } from '../../support/packages/wheel.ts';
import { said } from '../../support/said.ts';

const NAMES = ['alpha', 'beta'] as const;

let host: Host;
let index: IndexServer;
const ends: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  const { dataDir, python, remove } = await makeDataDir();
  ends.push(remove);
  const pure = NAMES.map(
    (name) => [name, [makeWheel({ name, files: { [`${name}.py`]: `value = "${name}"\n` } })]] as const,
  );
  index = await startIndex({
    ...Object.fromEntries(pure),
    'compiled-demo': [compiledWheel(python)],
    parent: [
      makeWheel({
        name: 'parent',
        version: '2.1',
        requires: ['child>=1', 'numpy'],
        files: { 'parent.py': 'import child, numpy\n' },
      }),
    ],
    child: [makeWheel({ name: 'child', files: { 'child/__init__.py': 'import os\n', 'child/data.txt': 'data' } })],
  });
  ends.push(() => index.close());
  host = await createHost({ dataDir, python, preload: [], packages: 'any', packageIndexes: [index.url] });
  ends.push(() => host.close());
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

async function open(options: SessionOptions = {}): Promise<Session> {
  const session = await host.createSession(options);
  onTestFinished(() => session.close());
  return session;
}

test('a pure package and a compiled one are there in the same cell, the variables too, without any network', async () => {
  const session = await open();
  await session.runCode('kept = 42');
  const execution = await session.runCode(
    '%pip install -q alpha compiled-demo\nimport alpha, compiled_demo\nprint(alpha.value, compiled_demo.native.__file__.endswith(".so"), kept)',
  );
  expect(said(execution)).toBe('Installed alpha 1.0, compiled-demo 1.0\nalpha True 42');
  expect(execution.isolation.network).toBe('none');
  expect(execution.packages).toEqual([
    {
      name: 'alpha',
      version: '1.0',
      url: expect.stringContaining(index.url.replace('/simple', '/files/alpha')) as string,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/u) as string,
    },
    expect.objectContaining({ name: 'compiled-demo' }),
  ]);
  const after = await session.runCode('import alpha');
  expect(after.packages).toBeUndefined();
  const { metadata, cells } = await session.exportNotebook();
  expect(metadata.vivarium?.packages.map(({ name }) => name)).toEqual(['alpha', 'compiled-demo']);
  expect(cells.find(({ id }) => id === 'packages')?.source.join('')).toContain('alpha==1.0 --hash=sha256:');
});

test('all ways to call an installer lead there, from child processes as well', async () => {
  const ways = [
    '!pip install alpha',
    '!uv pip install alpha | cat',
    '!python -m pip install alpha',
    'import subprocess, sys\nsubprocess.run([sys.executable, "-m", "pip", "install", "alpha"], check=True)',
    'import subprocess\nsubprocess.run(["pip3", "install", "--quiet", "alpha"], check=True)',
    'import subprocess\nsubprocess.check_call(["uv", "pip", "install", "--system", "alpha"])',
    'import os\nos.system("cd /tmp && pip install -U alpha")',
    'get_ipython().system("pip install alpha")',
    '%conda install -y -c conda-forge alpha',
    'open("requirements.txt", "w").write("# ours\\n\\nalpha  # that\\n")\n%pip install -r requirements.txt',
  ];
  for (const way of ways) {
    const session = await open();
    const { outcome, packages, logs } = await session.runCode(way);
    expect.soft([outcome.status, packages?.length], `${way}: ${logs.stderr}`).toEqual(['succeeded', 1]);
    expect.soft(said(await session.runCode('import alpha; print(alpha.value)')), way).toBe('alpha');
  }
  const session = await open();
  await session.install(['alpha', 'beta']);
  expect(said(await session.runCode('!python -c "import alpha, beta; print(beta.value)"'))).toBe('beta');
  expect(said(await session.runCode('!pip list | grep -c -E "^(alpha|beta) "'))).toBe('2');
});

test('commands install packages too, after a run and after one that was stopped', async () => {
  const session = await open();
  await session.runCode('1');
  expect(await session.exec(['pip', 'install', 'alpha'])).toMatchObject({
    exitCode: 0,
    stdout: 'Installed alpha 1.0\n',
  });
  await session.runCode('while True: pass', { timeoutMs: 300 });
  expect(await session.exec(['pip', 'install', 'beta'])).toMatchObject({ exitCode: 0, stdout: 'Installed beta 1.0\n' });
  const { packages } = await session.runCode('import alpha, beta');
  expect(packages?.map(({ name }) => name)).toEqual(['beta']);
});

test('the owner of a session installs for it, whatever its programs may do', async () => {
  const session = await open({ packages: 'none' });
  const { installed, there } = await session.install('parent # with its needs\n');
  expect(installed.map(({ name, version }) => `${name} ${version}`).toSorted()).toEqual(['child 1.0', 'parent 2.1']);
  expect(there).toEqual([]);
  const execution = await session.runCode(
    'import parent, pathlib, child\nprint((pathlib.Path(child.__file__).parent / "data.txt").read_text())',
  );
  expect(said(execution)).toBe('data');
  expect(execution.packages).toHaveLength(2);
  expect(await session.install(['parent>=2', 'numpy'])).toMatchObject({
    installed: [],
    there: [{ name: 'parent' }, { name: 'numpy' }],
  });
});

test('nothing is installed at once if nothing was asked for', async () => {
  const session = await open();
  for (const nothing of ['', '# later\n', []] as const) {
    const signal = AbortSignal.timeout(1000); // an installer takes longer to start
    expect(await session.install(nothing, { signal })).toEqual({ installed: [], there: [] });
  }
});

test('a second session gets the same from the cache, and asks no index', async () => {
  const first = await open();
  await first.install(['beta', 'alpha']);
  const asked = index.asked.length;
  const times: number[] = [];
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const session = await open();
    await session.runCode('1');
    const startedMs = performance.now();
    await session.install(['beta', 'alpha']);
    times.push(performance.now() - startedMs);
    expect(said(await session.runCode('import beta; print(beta.value)'))).toBe('beta');
  }
  expect(index.asked).toHaveLength(asked);
  expect(Math.min(...times)).toBeLessThan(50);
});

test('what was installed outlives a crash, a reset and a rollback, and cannot be changed from inside', async () => {
  const session = await open();
  await session.runCode('%pip install alpha\nimport alpha');
  const tampered = await session.runCode('open(alpha.__file__, "w").write("value = 1")');
  expect(tampered.error?.traceback).toMatch(/Read-only file system|Permission denied/u);
  const crashed = await session.runCode('import os; os.abort()');
  expect(crashed.state.status).toBe('restored');
  expect(said(await session.runCode('print(alpha.value)'))).toBe('alpha');
  await session.runCode('x = 1');
  await session.rollback();
  expect(said(await session.runCode('import alpha as again; print(again.value)'))).toBe('alpha');
  await session.reset();
  expect(said(await session.runCode('import alpha; print(alpha.value)'))).toBe('alpha');
  const other = await open();
  expect((await other.runCode('import alpha')).outcome.status).toBe('raised');
});

test('a missing module says how to get its package, where that is allowed', async () => {
  const missing = async (packages: 'any' | 'none' | string[]): Promise<string> =>
    (await (await open({ packages })).runCode('import quokkas')).error?.traceback ?? '';
  expect(await missing('any')).toContain('%pip install quokkas');
  expect(await missing(['wombats'])).toContain('only these packages can be installed: wombats');
  expect(await missing('none')).toContain('nothing can be installed');
});
