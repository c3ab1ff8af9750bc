/** Named environments: made from wheels, used by sessions beside the usual one, rebuilt, and removed when nobody uses them. */
import { mkdtemp, readdir, readFile, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { parseConfig } from '../../src/config.ts';
import { tryClaim } from '../../src/environment/claim.ts';
import {
  addEnvironment,
  rebuildEnvironment,
  removeEnvironment,
  type AddOptions,
} from '../../src/environment/named/change.ts';
import { findNamed, listNamed, namedPaths, type NamedRecord } from '../../src/environment/named/record.ts';
import { createHost, type Host } from '../../src/index.ts';
import { startLocal, startNamed } from '../../src/host/local/engines.ts';
import { Environments } from '../../src/host/local/environments.ts';
import { CommandContext } from '../support/command-context.ts';
import { Wheelhouse } from '../support/wheelhouse.ts';

let house: Wheelhouse;
let dataDir: string;
let options: Omit<AddOptions, 'name' | 'packages'>;
let geo: NamedRecord;
const hashes: Record<string, string> = {};

/** One environment for all tests, as building takes seconds: a set of one package, and two that are added to it. */
beforeAll(async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'environments-'));
  dataDir = path.join(root, 'data');
  house = await Wheelhouse.open(root);
  hashes['seaborn'] = await house.add({ name: 'seaborn', version: '0.0.1' });
  await house.add({ name: 'seaborn', version: '0.0.2' });
  hashes['roads'] = await house.add({ name: 'roads', version: '1.2', requires: ['maps>=1', 'seaborn'] });
  hashes['maps'] = await house.add({ name: 'maps', version: '1.0' });
  await house.addSource('sourceonly', '1.0');
  const locksDir = path.join(root, 'locks');
  await house.writeLocks(locksDir, `seaborn==0.0.1 --hash=sha256:${hashes['seaborn']}\n`);
  options = { dataDir, locksDir, env: house.env, set: 'core' };
  geo = await addEnvironment({ ...options, name: 'geo', packages: ['Roads<2'] });
  return () => rm(root, { recursive: true, force: true });
}, 60_000);

/** What the data directory has of named environments. */
async function leftovers(): Promise<string[]> {
  return (await readdir(path.join(dataDir, 'environments', 'named')))
    .filter((file) => !file.startsWith('.'))
    .toSorted();
}

describe('An environment', () => {
  test('has the set as it is locked, the packages, what they need, and the hash of each wheel', async () => {
    expect(geo).toMatchObject({ name: 'geo', set: 'core', requested: ['Roads<2'] });
    expect(geo.packages).toEqual([
      { name: 'roads', version: '1.2', sha256: hashes['roads'] },
      { name: 'maps', version: '1.0', sha256: hashes['maps'] },
    ]);
    expect(geo.libraries).toEqual({ seaborn: '0.0.1', roads: '1.2' });
    expect(await listNamed(dataDir)).toMatchObject([{ record: geo, isUsable: true }]);
    expect(await leftovers()).toEqual(['geo', 'geo.json', 'geo.txt']);
  });

  test.for([
    ['geo', ['maps'], 'ENVIRONMENT_EXISTS', 'There is an environment "geo" already'],
    ['default', ['maps'], 'CONFIG_INVALID', '`vivarium setup`'],
    ['../geo', ['maps'], 'CONFIG_INVALID', 'cannot be the name of an environment'],
    ['Geo', ['maps'], 'CONFIG_INVALID', 'lower case'],
    ['other', ['--index-url=x'], 'CONFIG_INVALID', 'is not the name of a package'],
    ['other', ['roads @ https://example.com/roads.whl'], 'CONFIG_INVALID', 'is not the name of a package'],
    ['other', ['./roads'], 'CONFIG_INVALID', 'is not the name of a package'],
    ['other', ['sourceonly'], 'SETUP_FAILED', 'source packages are not built'],
    ['other', ['seaborn==0.0.2'], 'SETUP_FAILED', '--set none'],
  ] as const)('cannot be added as %s with %s', async ([name, packages, code, words]) => {
    await expect(addEnvironment({ ...options, name, packages })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words) as string,
    });
    expect(await leftovers()).toEqual(['geo', 'geo.json', 'geo.txt']);
  });

  test('cannot be added for a Python that is not there', async () => {
    await expect(
      addEnvironment({ ...options, name: 'other', packages: ['maps'], python: '3.9' }),
    ).rejects.toMatchObject({
      code: 'PYTHON_NOT_FOUND',
      message: expect.stringContaining('There is no CPython 3.9') as string,
    });
  });
});

describe('A session', () => {
  const open = (): Promise<Host> => createHost({ dataDir, poolSize: 0, preload: [] });
  const WHERE = 'import roads, maps, seaborn\nprint(roads.__version__, maps.__version__, seaborn.__version__)';

  test('finds the packages of the environment that it names, beside sessions that do not', async () => {
    await using host = await open();
    await using named = await host.createSession({ environment: 'geo', env: { CITY: 'Oslo' } });
    await using usual = await host.createSession();
    const { logs } = await named.runCode(`${WHERE}\nimport os; print(os.environ['CITY'])`);
    expect(logs.stdout).toBe('1.2 1.0 0.0.1\nOslo\n');
    expect((await usual.runCode(WHERE)).error?.name).toBe('ModuleNotFoundError');
    await named.runCode('x = 41');
    expect((await named.runCode('import os; os.abort()')).state.status).toBe('restored');
    expect((await named.runCode('x + 1')).results[0]?.data['text/plain']).toBe('42');
    expect((await host.runOnce(WHERE, { environment: 'geo' })).outcome.status).toBe('succeeded');
    expect((await named.exportNotebook()).metadata).toMatchObject({ language_info: { version: geo.version } });
  });

  test('keeps its environment from being removed or rebuilt, and a host that is closed does not', async () => {
    const host = await open();
    await host.createSession({ environment: 'geo' });
    const change = { ...options, name: 'geo' };
    for (const attempt of [removeEnvironment, rebuildEnvironment]) {
      await expect(attempt(change)).rejects.toMatchObject({ code: 'ENVIRONMENT_IN_USE' });
    }
    await host.close();
    using claimed = tryClaim(namedPaths(dataDir, 'geo').claim);
    expect(claimed).toBeDefined();
    await using other = await open();
    await expect(other.createSession({ environment: 'geo' })).rejects.toMatchObject({ code: 'ENVIRONMENT_IN_USE' });
  });

  test('that names no known environment is told which there are', async () => {
    await using host = await open();
    await expect(host.createSession({ environment: 'moon' })).rejects.toMatchObject({
      code: 'ENVIRONMENT_NOT_FOUND',
      message: expect.stringContaining('There are: geo.') as string,
    });
    await expect(host.createSession({ environment: { A: '1' } as never })).rejects.toThrow('given as `env`');
    expect(await host.listSessions()).toEqual([]);
  });

  test('runs on the environment of its host, which has no other Python', async () => {
    await using host = await createHost({ dataDir, environment: 'geo', poolSize: 0, preload: [] });
    expect(host.environment).toMatchObject({ name: 'geo', set: 'core', libraries: { roads: '1.2' } });
    expect((await host.runOnce(WHERE)).logs.stdout).toBe('1.2 1.0 0.0.1\n');
    await expect(createHost({ environment: 'geo', python: 'python3' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });
});

test('the zygote of an environment ends when it has had no session for a while, and starts again', async () => {
  const config = parseConfig({ dataDir, poolSize: 0, preload: [] });
  const start = (name: string): ReturnType<typeof startNamed> => startNamed(name, 'local', config);
  await using environments = new Environments({
    own: await startLocal(config, {}),
    ownName: undefined,
    start,
    lingerMs: 20,
  });
  const isFree = (): boolean => {
    using claimed = tryClaim(namedPaths(dataDir, 'geo').claim);
    return claimed !== undefined;
  };
  const first = await environments.use('geo');
  const second = await environments.use('geo');
  expect(second.engine).toBe(first.engine);
  first[Symbol.dispose]();
  expect(isFree()).toBe(false);
  second[Symbol.dispose]();
  await expect.poll(isFree).toBe(true);
  using third = await environments.use('geo');
  expect(third.engine).not.toBe(first.engine);
});

describe('The command line', () => {
  async function vivarium(...args: string[]): Promise<{ exitCode: number; out: string; err: string }> {
    const context = new CommandContext({ environment: { ...house.env, VIVARIUM_HOME: dataDir } });
    const exitCode = await runProgram(args, context);
    return { exitCode, out: context.out.plain, err: context.err.plain };
  }

  test('runs a program on an environment, and lists what there is', async () => {
    const ran = await vivarium('run', '--environment', 'geo', '-c', 'import roads; print(roads.__version__)');
    expect(ran).toEqual({ exitCode: 0, out: '1.2\n', err: '' });
    expect((await vivarium('run', '--environment', 'moon', '-c', '1')).exitCode).toBe(4);
    expect((await vivarium('environments', 'list')).out).toMatch(/^geo +3\.\S+ +core +roads 1\.2, maps 1\.0$/mu);
    expect(JSON.parse((await vivarium('environments', 'list', '--json')).out)).toMatchObject([geo]);
  });

  test('builds an environment again whose Python is gone, from the same wheels, and removes it', async () => {
    await house.add({ name: 'roads', version: '1.3' });
    const { tree, lock } = namedPaths(dataDir, 'geo');
    const locked = await readFile(lock, 'utf8');
    await unlink(path.join(tree, 'bin', 'python'));
    await expect(findNamed(dataDir, 'geo')).rejects.toMatchObject({ code: 'ENVIRONMENT_UNUSABLE' });
    const told = await vivarium('run', '--environment', 'geo', '-c', '1');
    expect([told.exitCode, told.err]).toEqual([3, expect.stringContaining('`vivarium environments rebuild geo`')]);
    expect((await vivarium('environments', 'list')).out).toContain('gone');

    expect((await vivarium('environments', 'rebuild', 'geo')).err).toContain('the environment "geo" is ready');
    expect(await listNamed(dataDir)).toMatchObject([{ record: geo, isUsable: true }]);
    expect(await readFile(lock, 'utf8')).toBe(locked);

    expect((await vivarium('environments', 'remove', 'geo')).exitCode).toBe(0);
    expect(await leftovers()).toEqual([]);
    expect((await vivarium('environments', 'remove', 'geo')).exitCode).toBe(4);
  });
});
