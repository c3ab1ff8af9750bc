import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Lease, occupancyOf } from './lease.ts';

const SOCKET = 'owner.sock';

function scratch(...below: string[]): string {
  const base = mkdtempSync(path.join(tmpdir(), 'viv-lease-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const directory = path.join(base, ...below);
  mkdirSync(directory, { recursive: true });
  return directory;
}

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

test('a directory is unmarked, then occupied, and the end of the lease removes its mark', async () => {
  const directory = scratch();
  expect(await occupancyOf(directory, SOCKET)).toBe('unmarked');
  const lease = await Lease.take(directory, SOCKET);
  expect(await occupancyOf(directory, SOCKET)).toBe('occupied');
  expect(await occupancyOf(directory, 'other.sock')).toBe('unmarked');
  await lease?.[Symbol.asyncDispose]();
  expect(readdirSync(directory)).toEqual([]);
  expect(await occupancyOf(directory, SOCKET)).toBe('unmarked');
});

test('the lease of a killed owner is abandoned', async () => {
  const directory = scratch();
  const script = 'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, 9))';
  await once(spawn(process.execPath, ['-e', script, path.join(directory, SOCKET)]), 'exit');
  expect(existsSync(path.join(directory, SOCKET))).toBe(true);
  expect(await occupancyOf(directory, SOCKET)).toBe('abandoned');
});

test('a path that is too long for a socket is none for a lease', async () => {
  const directory = scratch('d'.repeat(100), 'e'.repeat(100));
  await using lease = await Lease.take(directory, SOCKET);
  expect(lease).not.toBeNull();
  expect(await occupancyOf(directory, SOCKET)).toBe('occupied');
});

test('where a socket cannot be made there is no lease, and nothing stays open', async () => {
  const directory = scratch();
  mkdirSync(path.join(directory, SOCKET));
  const before = openDescriptors();
  expect(await Lease.take(directory, SOCKET)).toBeNull();
  expect(await occupancyOf(directory, SOCKET)).toBe('unmarked');
  expect(openDescriptors()).toBe(before);
});

test('a second lease on the same directory is refused, and the first one stays', async () => {
  const directory = scratch();
  await using first = await Lease.take(directory, SOCKET);
  expect(first).not.toBeNull();
  expect(await Lease.take(directory, SOCKET)).toBeNull();
  expect(await occupancyOf(directory, SOCKET)).toBe('occupied');
});

test.for(['a file', 'a link to a live socket'])('%s in the place of the socket is no mark', async (kind) => {
  const directory = scratch();
  const elsewhere = scratch();
  await using lease = await Lease.take(elsewhere, SOCKET);
  expect(lease).not.toBeNull();
  if (kind === 'a file') writeFileSync(path.join(directory, SOCKET), '');
  else symlinkSync(path.join(elsewhere, SOCKET), path.join(directory, SOCKET));
  expect(await occupancyOf(directory, SOCKET)).toBe('unmarked');
});

test('a link in the place of the directory is not followed', async () => {
  const directory = scratch();
  const link = path.join(scratch(), 'link');
  symlinkSync(directory, link);
  await expect(occupancyOf(link, SOCKET)).rejects.toMatchObject({ code: 'ENOTDIR' });
  await expect(Lease.take(link, SOCKET)).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test('a directory that is gone is an error', async () => {
  await expect(occupancyOf('/does/not/exist', SOCKET)).rejects.toMatchObject({ code: 'ENOENT' });
});

test.runIf(process.getuid?.() === 0)('the directory of another user counts as occupied', async () => {
  const directory = scratch();
  chownSync(directory, 65_534, 65_534);
  expect(await occupancyOf(directory, SOCKET)).toBe('occupied');
});

test('a connection to a lease is closed, and the lease stays', async () => {
  const directory = scratch();
  await using lease = await Lease.take(directory, SOCKET);
  expect(lease).not.toBeNull();
  for (let visit = 0; visit < 20; visit += 1) {
    const client = connect(path.join(directory, SOCKET));
    client.on('error', () => client.destroy());
    client.write('hello');
    await new Promise((resolve) => client.once('close', resolve));
  }
  expect(await occupancyOf(directory, SOCKET)).toBe('occupied');
});

test('asking leaves no descriptor open, whatever the answer is', async () => {
  const directory = scratch();
  await occupancyOf(directory, SOCKET);
  const before = openDescriptors();
  for (let round = 0; round < 20; round += 1) await occupancyOf(directory, SOCKET);
  await using lease = await Lease.take(directory, SOCKET);
  expect(lease).not.toBeNull();
  for (let round = 0; round < 20; round += 1) await occupancyOf(directory, SOCKET);
  await expect.poll(openDescriptors).toBeLessThanOrEqual(before + 2); // the directory and the socket of the lease
});
