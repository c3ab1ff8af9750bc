import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { removeAbandoned, removeContents, removeGroups, removeStaleGroups } from './clean-up.ts';
import { Lease } from './lease.ts';
import { removeTree } from './removals.ts';

const SOCKET = 'owner.sock';
const NAMES = /^\d+-[0-9a-f]{8}$/;
const LONG_AGO = new Date(2000, 1, 1);

function scratch(): { base: string; inside: (...names: string[]) => string } {
  const base = mkdtempSync(path.join(tmpdir(), 'viv-clean-'));
  onTestFinished(() => {
    execFileSync('chmod', ['-R', 'u+rwx', base]);
    execFileSync('rm', ['-rf', base]);
  });
  return { base, inside: (...names) => path.join(base, ...names) };
}

/** A directory whose engine was killed. */
async function abandon(directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const script = 'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, 9))';
  await once(spawn(process.execPath, ['-e', script, path.join(directory, SOCKET)]), 'exit');
}

test('a tree is removed, and what its links point to is not', async () => {
  const { inside } = scratch();
  mkdirSync(inside('tree', 'a', 'b'), { recursive: true });
  mkdirSync(inside('outside'));
  writeFileSync(inside('outside', 'kept'), 'kept');
  symlinkSync(inside('outside'), inside('tree', 'a', 'link'));
  symlinkSync(inside('outside', 'kept'), inside('tree', 'link'));
  await removeTree(inside('tree'));
  expect(existsSync(inside('tree'))).toBe(false);
  expect(readFileSync(inside('outside', 'kept'), 'utf8')).toBe('kept');
});

test('a tree with locked directories is removed', async () => {
  const { inside } = scratch();
  mkdirSync(inside('tree', 'locked', 'deeper'), { recursive: true });
  writeFileSync(inside('tree', 'locked', 'deeper', 'file'), '');
  for (const locked of [['locked', 'deeper'], ['locked'], []]) chmodSync(inside('tree', ...locked), 0);
  await removeTree(inside('tree'));
  expect(existsSync(inside('tree'))).toBe(false);
});

test('a tree whose paths are too long for one call is removed', async () => {
  const { base, inside } = scratch();
  const program =
    'mkdir tree; cd tree; for i in $(seq 100); do mkdir dddddddddddddddddddddddddddddddddddddddddddddddddd; cd -P d*; done; : > bottom';
  execFileSync('sh', ['-c', program], { cwd: base });
  await removeTree(inside('tree'));
  expect(readdirSync(base)).toEqual([]);
});

test('a tree that is gone already is no error', async () => {
  await expect(removeTree(scratch().inside('nothing'))).resolves.toBeUndefined();
});

test('a link in the place of a tree is removed, not followed', async () => {
  const { inside } = scratch();
  mkdirSync(inside('outside'));
  writeFileSync(inside('outside', 'kept'), '');
  symlinkSync(inside('outside'), inside('link'));
  await removeTree(inside('link'));
  expect(readdirSync(inside())).toEqual(['outside']);
  expect(readdirSync(inside('outside'))).toEqual(['kept']);
});

test('what a killed engine left is removed, and what lives, is young or is not ours stays', async () => {
  const { base, inside } = scratch();
  await abandon(inside('1-0123abcd'));
  writeFileSync(inside('1-0123abcd', 'file'), '');
  mkdirSync(inside('1-0123abcd', 's1', 'workspace'), { recursive: true });
  mkdirSync(inside('2-0123abcd'));
  await using lease = await Lease.take(inside('2-0123abcd'), SOCKET);
  expect(lease).not.toBeNull();
  mkdirSync(inside('3-0123abcd')); // just being made
  await abandon(inside('not-ours'));
  writeFileSync(inside('4-0123abcd'), 'a file');
  await removeAbandoned({ directory: base, names: NAMES, socket: SOCKET, isOwn: true });
  expect(readdirSync(base).toSorted()).toEqual(['2-0123abcd', '3-0123abcd', '4-0123abcd', 'not-ours']);
});

test('an old directory without a mark is removed only if it is empty', async () => {
  const { base, inside } = scratch();
  for (const name of ['1-00000000', '2-00000000']) mkdirSync(inside(name));
  writeFileSync(inside('2-00000000', 'notes'), 'kept');
  for (const name of ['1-00000000', '2-00000000']) utimesSync(inside(name), LONG_AGO, LONG_AGO);
  await removeAbandoned({ directory: base, names: NAMES, socket: SOCKET, isOwn: true });
  expect(readdirSync(base)).toEqual(['2-00000000']);
  expect(readdirSync(inside('2-00000000'))).toEqual(['notes']);
});

test('in a directory that is shared with others only a socket that is alone is removed', async () => {
  const { base, inside } = scratch();
  await abandon(inside('1-00000000'));
  await abandon(inside('2-00000000'));
  writeFileSync(inside('2-00000000', 'notes'), 'kept');
  await removeAbandoned({ directory: base, names: NAMES, socket: SOCKET, isOwn: false });
  expect(readdirSync(base)).toEqual(['2-00000000']);
  expect(readdirSync(inside('2-00000000')).toSorted()).toEqual(['notes', SOCKET]);
});

test('one directory that cannot be looked at does not keep the others from being removed', async () => {
  const { base, inside } = scratch();
  symlinkSync('/does/not/exist', inside('1-00000000'));
  await abandon(inside('2-00000000'));
  await removeAbandoned({ directory: base, names: NAMES, socket: SOCKET, isOwn: true });
  expect(readdirSync(base)).toEqual(['1-00000000']);
});

test('where nothing was ever made there is nothing to remove', async () => {
  const directory = '/does/not/exist';
  await expect(removeAbandoned({ directory, names: NAMES, socket: SOCKET, isOwn: true })).resolves.toBeUndefined();
  await expect(removeGroups([directory], 'x')).resolves.toBeUndefined();
  await expect(removeStaleGroups([directory], () => Promise.resolve(false))).resolves.toBeUndefined();
});

test('two engines that clean up at the same time do not disturb each other', async () => {
  const { base, inside } = scratch();
  await Promise.all(['1-00000000', '2-00000000', '3-00000000'].map((name) => abandon(inside(name))));
  const leftovers = { directory: base, names: NAMES, socket: SOCKET, isOwn: true };
  await Promise.all([removeAbandoned(leftovers), removeAbandoned(leftovers), removeAbandoned(leftovers)]);
  await removeAbandoned(leftovers);
  expect(readdirSync(base)).toEqual([]);
});

test('a directory is emptied but for its socket', async () => {
  const { base, inside } = scratch();
  await abandon(base);
  mkdirSync(inside('a', 'b'), { recursive: true });
  writeFileSync(inside('c'), '');
  await removeContents(base, SOCKET);
  expect(readdirSync(base)).toEqual([SOCKET]);
});

/** Plain directories stand in for control groups: both are removed by rmdir, and only if nothing is in them. */
test('the groups of one zygote are removed, and not those of another', async () => {
  const { base, inside } = scratch();
  for (const name of ['vivarium-1-aa.1-s1', 'vivarium-1-aa.1-s2', 'vivarium-1-aa.2-s1', 'other'])
    mkdirSync(inside(name));
  await removeGroups([base, '/does/not/exist'], '1-aa.1-');
  expect(readdirSync(base).toSorted()).toEqual(['other', 'vivarium-1-aa.2-s1']);
});

test('a group that is still in use for a moment is removed as soon as it can be', async () => {
  const { base, inside } = scratch();
  mkdirSync(inside('vivarium-busy', 'process'), { recursive: true });
  const removing = removeGroups([base], 'busy');
  await new Promise(setImmediate);
  expect(existsSync(inside('vivarium-busy'))).toBe(true);
  execFileSync('rmdir', [inside('vivarium-busy', 'process')]);
  await removing;
  expect(readdirSync(base)).toEqual([]);
});

test('groups of engines that are gone are removed; of those that live or may live, none is', async () => {
  const { base, inside } = scratch();
  const gone = 2 ** 22 + 1; // above the largest pid
  const names = [
    `vivarium-${gone}-00000001.1-s1`,
    `vivarium-${gone}-00000002.1-s1`,
    `vivarium-${process.pid}-00000003.1-s1`,
    `vivarium-${gone}-XYZ.1`,
    'system.slice',
  ];
  for (const name of names) mkdirSync(inside(name));
  const asked: string[] = [];
  await removeStaleGroups([base], (instance) => {
    asked.push(instance);
    return Promise.resolve(instance.endsWith('2'));
  });
  expect(readdirSync(base).toSorted()).toEqual(names.slice(1).toSorted());
  expect(asked.toSorted()).toEqual([`${gone}-00000001`, `${gone}-00000002`]);
});
