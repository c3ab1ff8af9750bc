import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isolationOf, resolveAccess, resolveDirectory, weakIsolation } from './access.ts';

const DATA = { source: '/data', target: '/data', writable: false };
const OWN = { source: '/own', target: '/own', writable: true };
const HOST = {
  access: { mounts: [DATA], network: true, env: { A: 'host', B: 'host' }, packages: 'none' },
} as const;

test('X-07 without options of its own, a tool has what its host has', () => {
  expect(resolveAccess({}, HOST)).toEqual(HOST.access);
  expect(resolveAccess({ mounts: undefined, network: undefined, env: undefined }, HOST)).toEqual(HOST.access);
});

test('X-07 an option of the tool replaces that of the host, also an empty one', () => {
  expect(resolveAccess({ mounts: [], network: false, env: {} }, HOST)).toEqual({
    mounts: [],
    network: false,
    env: {},
    packages: 'none',
  });
});

test('what the tool itself needs is added last and wins', () => {
  expect(resolveAccess({}, HOST, { mounts: [OWN], env: { B: 'tool' } })).toEqual({
    mounts: [DATA, OWN],
    network: true,
    env: { A: 'host', B: 'tool' },
    packages: 'none',
  });
  expect(HOST.access.mounts).toEqual([DATA]);
});

test.for([
  ['namespaces', false, 'none'],
  ['namespaces', true, 'host'],
  ['landlock', false, 'none'],
  ['none', false, 'host'],
  ['jupyter', false, 'host'],
] as const)('at level %s with network %s, models are told that the network is "%s"', ([level, network, expected]) => {
  const isolation = { level, files: 'host', network: 'none' } as const;
  expect(isolationOf({ isolation }, { network })).toEqual({ level, files: 'host', network: expected });
});

test('results name the isolation level only where it is weaker than usual', () => {
  expect(weakIsolation({ level: 'namespaces' })).toEqual({});
  for (const level of ['landlock', 'none', 'jupyter'] as const)
    expect(weakIsolation({ level })).toEqual({ isolation: level });
});

test('P-03 a directory is resolved through links', async () => {
  const directory = await scratch();
  await mkdir(path.join(directory, 'real'));
  await symlink('real', path.join(directory, 'link'));
  expect(await resolveDirectory('workdir', path.join(directory, 'link'))).toBe(path.join(directory, 'real'));
});

test('P-03 a missing directory, a file, a broken link and the root are refused by name', async () => {
  const directory = await scratch();
  await writeFile(path.join(directory, 'file'), '');
  await symlink('nowhere', path.join(directory, 'broken'));
  await symlink('/', path.join(directory, 'root'));
  for (const [name, reason] of [
    ['missing', 'does not exist or is not a directory'],
    ['file', 'does not exist or is not a directory'],
    ['broken', 'does not exist or is not a directory'],
    ['root', 'is the root directory'],
  ] as const) {
    const given = path.join(directory, name);
    await expect(resolveDirectory('workdir', given)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `The workdir ${given} ${reason}. Name an existing directory.`,
    });
  }
});

async function scratch(): Promise<string> {
  const directory = await realpath(await mkdtemp(path.join(os.tmpdir(), 'access-')));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
