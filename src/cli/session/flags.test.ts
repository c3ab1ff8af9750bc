import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../config.ts';
import { configOf, dataDirOf, parseMount } from './flags.ts';

const USAGE = { code: 'USAGE' };

test('without flags and variables only what a single session needs is set', () => {
  expect(configOf({}, { HOME: '/home/ada' })).toEqual({
    dataDir: '/home/ada/.local/share/vivarium',
    preload: [],
    poolSize: 0,
    limits: {},
  });
});

test('flags win over environment variables', () => {
  const environment = { VIVARIUM_HOME: '/from/env', VIVARIUM_PYTHON: 'python3.11', VIVARIUM_ISOLATION: 'landlock' };
  expect(configOf({}, environment)).toMatchObject({
    dataDir: '/from/env',
    python: 'python3.11',
    isolation: 'landlock',
  });
  const flags = { dataDir: '/from/flag', python: '/usr/bin/python3', isolation: 'none' } as const;
  expect(configOf(flags, environment)).toMatchObject(flags);
});

test('empty variables count as unset', () => {
  const config = configOf({}, { HOME: '/home/ada', VIVARIUM_PYTHON: '', VIVARIUM_ISOLATION: '' });
  expect(config).not.toHaveProperty('python');
  expect(config).not.toHaveProperty('isolation');
});

test.for([
  ['a name is looked up later', 'python3.12', 'python3.12'],
  ['a relative path is relative to the working directory', './bin/python', path.resolve('bin/python')],
  ['an absolute path stays', '/opt/python/bin/python3', '/opt/python/bin/python3'],
] as const)('a Python: %s', ([, given, python]) => {
  expect(configOf({ python: given }, {}).python).toBe(python);
  expect(configOf({}, { VIVARIUM_PYTHON: given }).python).toBe(python);
});

test('limits are passed on, also those that the configuration will refuse', () => {
  expect(configOf({ timeoutMs: 0, memoryMb: 64 }, {}).limits).toEqual({ timeoutMs: 0, memoryMb: 64 });
  expect(() => parseConfig(configOf({ timeoutMs: 0 }, {}), {})).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID' }),
  );
});

test('an unknown level in the environment is refused with the known ones, unless a flag wins', () => {
  const environment = { VIVARIUM_ISOLATION: 'Namespaces' };
  expect(() => configOf({}, environment)).toThrow(
    'VIVARIUM_ISOLATION is "Namespaces". Set it to one of namespaces, landlock, none.',
  );
  expect(configOf({ isolation: 'namespaces' }, environment).isolation).toBe('namespaces');
});

test('a relative data directory is relative to the working directory', () => {
  expect(dataDirOf({ dataDir: 'data' }, { VIVARIUM_HOME: '/home' })).toBe(path.resolve('data'));
  expect(dataDirOf({}, { XDG_DATA_HOME: '/xdg', HOME: '/home/ada' })).toBe('/xdg/vivarium');
});

test.for([
  ['/tmp:/data', { source: '/tmp', target: '/data', writable: false }],
  ['/tmp:/data:ro', { source: '/tmp', target: '/data', writable: false }],
  ['/tmp:/data:rw', { source: '/tmp', target: '/data', writable: true }],
  ['/tmp/../tmp/:/data//in/..', { source: '/tmp', target: '/data', writable: false }],
  ['.:/here', { source: process.cwd(), target: '/here', writable: false }],
] as const)('the mount %s', ([text, mount]) => {
  expect(parseMount(text)).toEqual(mount);
});

test.for([
  ['/tmp', 'Write SOURCE:TARGET'],
  ['', 'Write SOURCE:TARGET'],
  [':/data', 'Write SOURCE:TARGET'],
  ['/tmp:', 'Write SOURCE:TARGET'],
  ['/tmp:/data:rwx', 'Write SOURCE:TARGET'],
  ['/tmp:/data:', 'Write SOURCE:TARGET'],
  ['/tmp:/data:RW', 'Write SOURCE:TARGET'],
  ['/tmp:/data:rw:more', 'Write SOURCE:TARGET'],
  ['/tmp:data', 'must be an absolute path'],
  ['/tmp:./data:rw', 'must be an absolute path'],
  ['/no/such/place:/data', '/no/such/place does not exist'],
] as const)('the mount %j is refused', ([text, words]) => {
  expect(() => parseMount(text)).toThrow(
    expect.objectContaining({ ...USAGE, message: expect.stringContaining(words) as string }),
  );
  expect(() => parseMount(text)).toThrow(`--mount ${text}`);
});

test('the source of a mount may be a file', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-mount-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  expect(parseMount(`${directory}:/data`).source).toBe(directory);
  expect(() => parseMount(`${directory}/none.csv:/none.csv`)).toThrow(expect.objectContaining(USAGE));
});
