import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { findProgram, run } from './command.ts';
import { BASE_ORDER, findEnvironment } from './find.ts';
import { takeInventory } from './inventory.ts';
import { LIBRARY_SETS, SET_NAMES } from './library-sets.ts';
import { setupEnvironment, type SetupOptions } from './setup.ts';

test('an environment is built, recorded and found again', async () => {
  const house = await wheelhouse();
  const environment = await setupEnvironment(house.options);
  expect(environment).toMatchObject({ source: 'managed', set: 'full', libraries: { seaborn: '0.0.1' } });
  expect(environment.missing).toHaveLength(LIBRARY_SETS.full.length - 1);
  expect(await findEnvironment(house.dataDir)).toEqual(environment);
  const command = [environment.python, '-I', '-c', 'import seaborn; print(seaborn.__file__)'];
  const { output } = await run(command, { env: house.env });
  expect(output.startsWith(path.resolve(environment.python, '../..'))).toBe(true);
  expect(house.lines).toEqual(expect.arrayContaining([expect.stringMatching(/^creating environment with Python 3\./)]));
});

test('a set that was chosen stays until another is chosen', async () => {
  const house = await wheelhouse();
  const core = await setupEnvironment({ ...house.options, set: 'core' });
  expect(core).toMatchObject({ source: 'managed', set: 'core' });
  expect(core.missing).toHaveLength(LIBRARY_SETS.core.length - 1);
  expect(await setupEnvironment(house.options)).toEqual(core);
  const full = await setupEnvironment({ ...house.options, set: 'full' });
  expect(full).toMatchObject({ source: 'managed', set: 'full' });
  expect(full.python).not.toBe(core.python);
  expect(await setupEnvironment(house.options)).toEqual(full);
});

test('an index that is too slow is not waited for, and what is there is used', async () => {
  const house = await wheelhouse();
  const pidFile = await addStuckUv(house);
  const { source } = await setupEnvironment({ ...house.options, waitMs: 2000 });
  expect(source).toBe('found');
  expect(house.lines.join('\n')).toContain('uv did not install the libraries within 2 s');
  await expect.poll(async () => isAlive(await readPid(pidFile))).toBe(false);
  expect(await leftovers(house.dataDir)).toEqual([]);
});

test('a complete environment is recognised in milliseconds and left alone', async () => {
  const house = await wheelhouse();
  const first = await setupEnvironment(house.options);
  house.lines.length = 0;
  const before = process.cpuUsage();
  expect(await setupEnvironment(house.options)).toEqual(first);
  expect(process.cpuUsage(before).user).toBeLessThan(100_000);
  expect(house.lines).toEqual([]);
});

test('an environment whose interpreter vanished is built again', async () => {
  const house = await wheelhouse();
  const first = await setupEnvironment(house.options);
  await unlink(first.python);
  expect(await setupEnvironment(house.options)).toEqual(first);
  expect(await findEnvironment(house.dataDir)).toEqual(first);
});

test('two set-ups at once build one environment', async () => {
  const house = await wheelhouse();
  const [first, second] = await Promise.all([setupEnvironment(house.options), setupEnvironment(house.options)]);
  expect(second).toEqual(first);
  expect(house.lines.filter((line) => line.startsWith('creating environment'))).toHaveLength(1);
  expect(house.lines).toContain('waiting for another set-up of this data directory');
  expect(await leftovers(house.dataDir)).toEqual([]);
});

const uv = await findProgram('uv', process.env);

test.skipIf(uv === undefined)('uv builds the same where there is one', async () => {
  const house = await wheelhouse();
  house.env['PATH'] = `${path.dirname(uv ?? '')}:${house.env['PATH']}`;
  expect(await setupEnvironment(house.options)).toMatchObject({ source: 'managed', libraries: { seaborn: '0.0.1' } });
  expect(house.lines).toContain('installing 1 package (uv)');
});

test('an abort ends the installer and leaves nothing behind', async () => {
  const house = await wheelhouse();
  const pidFile = await addStuckUv(house);
  const controller = new AbortController();
  const onProgress = (line: string): void => {
    if (line.startsWith('installing')) void waitForFile(pidFile).then(() => controller.abort(new Error('stopped')));
  };
  await expect(setupEnvironment({ ...house.options, signal: controller.signal, onProgress })).rejects.toThrow(
    'stopped',
  );
  await expect.poll(async () => isAlive(await readPid(pidFile))).toBe(false);
  expect(await leftovers(house.dataDir)).toEqual([]);
  expect(await findEnvironment(house.dataDir)).toBeUndefined();
});

test('a set-up after one killed with SIGKILL cleans up and completes', async () => {
  const house = await wheelhouse();
  const healthyPath = house.env['PATH'];
  const pidFile = await addStuckUv(house);
  await killMidway(house, pidFile);
  const orphan = await readPid(pidFile);
  onTestFinished(() => void (isAlive(orphan) && process.kill(orphan, 'SIGKILL')));
  expect(await leftovers(house.dataDir)).toHaveLength(1);
  house.env['PATH'] = healthyPath;
  expect(await setupEnvironment(house.options)).toMatchObject({ source: 'managed' });
  expect(await leftovers(house.dataDir)).toEqual([]);
});

test('without an index the best Python of the machine is used, and what is missing is named', async () => {
  const house = await wheelhouse();
  await rm(house.wheels, { recursive: true });
  const environment = await setupEnvironment(house.options);
  expect(environment.source).toBe('found');
  expect(await findEnvironment(house.dataDir)).toEqual(environment);
  expect(house.lines.join('\n')).toContain('Check that a package index is reachable');
  const { missing } = environment;
  const named = missing.length === 0 ? '' : `Missing: ${missing.join(', ')}. Run`;
  expect(house.lines.join('\n')).toContain(named);
  expect(await leftovers(house.dataDir)).toEqual([]);
});

test('where nothing can install, the Python is used as it is and what to install is said', async () => {
  const house = await wheelhouse();
  const bin = path.join(path.dirname(house.wheels), 'bin');
  const python = path.join(bin, 'python3');
  const kind = { version: '3.13.99', implementation: 'cpython', freeThreaded: false };
  const answer = {
    python,
    base: python,
    ...kind,
    hasEnsurepip: false,
    pipVersion: '20.1',
    libraries: {},
    missing: ['numpy'],
  };
  await addProgram(python, `echo '${JSON.stringify(answer)}'`);
  const env = { ...house.env, PATH: bin };
  const { source } = await setupEnvironment({ ...house.options, env });
  expect(source).toBe('found');
  expect(house.lines.join('\n')).toContain('Install uv, or the pip or venv package of that Python');
});

test('a new lock that cannot be installed leaves the former environment in use', async () => {
  const house = await wheelhouse();
  const former = await setupEnvironment(house.options);
  await writeLocks(house.locksDir, `seaborn==0.0.2 --hash=sha256:${'0'.repeat(64)}\n`);
  expect(await setupEnvironment(house.options)).toEqual(former);
  expect(await findEnvironment(house.dataDir)).toEqual(former);
});

test('a wheel that does not have the locked hash is not installed', async () => {
  const house = await wheelhouse();
  await writeLocks(house.locksDir, `seaborn==0.0.1 --hash=sha256:${'0'.repeat(64)}\n`);
  expect((await setupEnvironment(house.options)).source).toBe('found');
});

test('a given Python is recorded as it is', async () => {
  const house = await wheelhouse();
  const { base } = await takeInventory('python3');
  const environment = await setupEnvironment({ ...house.options, python: base });
  expect(environment).toMatchObject({ python: base, source: 'given' });
  expect(await findEnvironment(house.dataDir)).toEqual(environment);
  await expect(setupEnvironment({ ...house.options, python: '/no/python' })).rejects.toMatchObject({
    code: 'PYTHON_NOT_FOUND',
  });
});

test('a data directory that cannot be made is reported', async () => {
  const house = await wheelhouse();
  const dataDir = path.join(house.wheels, 'seaborn-0.0.1-py3-none-any.whl', 'data');
  await expect(setupEnvironment({ ...house.options, dataDir })).rejects.toMatchObject({ code: 'SETUP_FAILED' });
});

interface House {
  readonly dataDir: string;
  readonly wheels: string;
  readonly locksDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly lines: string[];
  readonly options: SetupOptions;
}

/** A package index of one tiny wheel on disk, locks that pin it, and an empty data directory. */
async function wheelhouse(): Promise<House> {
  const root = await mkdtemp(path.join(tmpdir(), 'setup-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const inRoot = (name: string): string => path.join(root, name);
  const [dataDir, wheels, locksDir] = [inRoot('data'), inRoot('wheels'), inRoot('locks')];
  await mkdir(wheels);
  await mkdir(locksDir);
  const { base } = await takeInventory('python3');
  const env = {
    PATH: `${path.dirname(base)}:/usr/bin:/bin`,
    HOME: root,
    PIP_NO_INDEX: '1',
    PIP_FIND_LINKS: wheels,
    UV_NO_INDEX: '1',
    UV_OFFLINE: '1',
    UV_FIND_LINKS: wheels,
  };
  const wheel = path.join(wheels, 'seaborn-0.0.1-py3-none-any.whl');
  await run([base, '-I', '-c', MAKE_WHEEL, wheel], { env });
  const hash = createHash('sha256')
    .update(await readFile(wheel))
    .digest('hex');
  await writeLocks(locksDir, `seaborn==0.0.1 --hash=sha256:${hash}\n`);
  const lines: string[] = [];
  return {
    dataDir,
    wheels,
    locksDir,
    env,
    lines,
    options: { dataDir, locksDir, env, onProgress: (line) => lines.push(line) },
  };
}

const MAKE_WHEEL = `
import sys, zipfile
info = "seaborn-0.0.1.dist-info/"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("seaborn.py", "")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: seaborn\\nVersion: 0.0.1\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", f"seaborn.py,,\\n{info}METADATA,,\\n{info}WHEEL,,\\n{info}RECORD,,\\n")
`;

async function writeLocks(locksDir: string, content: string): Promise<void> {
  for (const set of SET_NAMES) {
    const directory = path.join(locksDir, set);
    await mkdir(directory, { recursive: true });
    // The sets must differ: an environment is known by the hash of its lock.
    const own = `# ${set}\n${content}`;
    await Promise.all(BASE_ORDER.map((minor) => writeFile(path.join(directory, `${minor}.txt`), own)));
  }
}

/** Puts a uv first on PATH that creates the environment's directory and then installs for ever. */
async function addStuckUv(house: House): Promise<string> {
  const bin = path.join(path.dirname(house.wheels), 'bin');
  const pidFile = path.join(bin, 'pid');
  const body = `for last; do :; done\nif [ "$1" = venv ]; then mkdir "$last"; else echo $$ > ${pidFile}; exec sleep 300; fi`;
  await addProgram(path.join(bin, 'uv'), body);
  house.env['PATH'] = `${bin}:${house.env['PATH']}`;
  return pidFile;
}

async function addProgram(file: string, body: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
}

/** Starts a set-up in a process of its own and kills it, and nothing else, while it installs. */
async function killMidway(house: House, pidFile: string): Promise<void> {
  const module = new URL('setup.ts', import.meta.url).href;
  const { dataDir, locksDir } = house;
  const program = `const { setupEnvironment } = await import(${JSON.stringify(module)});
    await setupEnvironment({ ...${JSON.stringify({ dataDir, locksDir })}, onProgress: (line) => console.log(line) });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: house.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('installing')) break;
  await waitForFile(pidFile);
  child.kill('SIGKILL');
}

async function waitForFile(file: string): Promise<void> {
  await expect.poll(() => readFile(file, 'utf8').catch(() => ''), { timeout: 10_000 }).toMatch(/\d\n/);
}

async function readPid(pidFile: string): Promise<number> {
  return Number(await readFile(pidFile, 'utf8'));
}

async function leftovers(dataDir: string): Promise<string[]> {
  const names = await readdir(path.join(dataDir, 'environments'));
  return names.filter((name) => name.startsWith('.building-'));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
