/** What killed engines leave behind, who removes it, and what must not be removed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { startLocalEngine } from '../../../src/engine/local/engine.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import { descendants } from './processes.ts';

const HOST = path.join(import.meta.dirname, 'host.ts');
const LONG_AGO = new Date(2000, 1, 1);
const OLD_TMPDIR = process.env['TMPDIR'];

let directory: string;
let dataDir: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'viv-left-'));
  dataDir = path.join(directory, 'data');
  process.env['TMPDIR'] = path.join(directory, 'tmp');
  mkdirSync(process.env['TMPDIR']);
});
afterEach(async () => {
  if (OLD_TMPDIR === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = OLD_TMPDIR;
  await rm(directory, { recursive: true, force: true });
});

/** Starts and ends an engine, which cleans up after others. */
async function startAndClose(): Promise<void> {
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
  const config = parseConfig({ preload: [], poolSize: 0, dataDir });
  await (await startLocalEngine({ config, ...environment })).close();
}

/** Another process with an engine and a session. It prints the path of the workspace. */
async function startElsewhere(command: readonly string[] = []): Promise<{ host: ChildProcess; workspace: string }> {
  const [program, ...parameters] = [...command, process.execPath, HOST, dataDir];
  const host = spawn(program, parameters, { stdio: ['pipe', 'pipe', 'inherit'] });
  for await (const line of createInterface(host.stdout)) return { host, workspace: line };
  throw new Error('the host has not started');
}

test('directories of the user are never touched, whatever their names are like', async () => {
  const own = [
    path.join(tmpdir(), 'vivarium-999999-my-notes'),
    path.join(tmpdir(), 'vivarium-999999-abcdef'),
    path.join(dataDir, 'sessions', '999999-mine'),
    path.join(dataDir, 'sessions', '999999-0123abcd'),
  ];
  for (const each of own) {
    mkdirSync(each, { recursive: true });
    writeFileSync(path.join(each, 'notes'), 'kept');
    utimesSync(each, LONG_AGO, LONG_AGO);
  }
  await startAndClose();
  expect(own.filter((each) => !existsSync(path.join(each, 'notes')))).toEqual([]);
});

test('a socket that nobody listens on is removed, but not what lies beside it', async () => {
  const beside = path.join(tmpdir(), 'vivarium-999999-abcdef');
  const alone = path.join(tmpdir(), 'vivarium-999999-ghijkl');
  for (const each of [beside, alone]) {
    mkdirSync(each);
    await abandonSocket(path.join(each, 'engine.sock'));
  }
  writeFileSync(path.join(beside, 'notes'), 'kept');
  await startAndClose();
  expect(existsSync(alone)).toBe(false);
  expect(readdirSync(beside).toSorted()).toEqual(['engine.sock', 'notes']);
});

test('what a killed host leaves is removed by the next start', async () => {
  const { host, workspace } = await startElsewhere();
  writeFileSync(path.join(workspace, 'file'), 'x');
  host.kill('SIGKILL');
  await once(host, 'exit');
  await expect.poll(() => descendants(host.pid)).toEqual([]);
  expect(existsSync(workspace)).toBe(true);
  await startAndClose();
  expect(readdirSync(path.join(dataDir, 'sessions'))).toEqual([]);
  expect(readdirSync(tmpdir())).toEqual([]);
});

test('an engine lives on although another one in another pid namespace starts on the same directory', async ({
  skip,
}) => {
  const unshare = ['unshare', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']), '--pid', '--fork'];
  const { host, workspace } = await startElsewhere();
  const stranger = await startElsewhere([...unshare, '--kill-child']).catch(() => skip('no unshare here'));
  for (const each of [stranger.host, host]) {
    expect(existsSync(workspace)).toBe(true);
    each.stdin?.end();
    await once(each, 'exit');
  }
  expect(readdirSync(path.join(dataDir, 'sessions'))).toEqual([]);
});

test('a data directory whose path is longer than that of a socket may be', async () => {
  dataDir = path.join(directory, 'd'.repeat(120), 'data');
  const { host, workspace } = await startElsewhere();
  await startAndClose();
  expect(existsSync(workspace)).toBe(true);
  host.kill('SIGKILL');
  await once(host, 'exit');
  await startAndClose();
  expect(readdirSync(path.join(dataDir, 'sessions'))).toEqual([]);
});

/** A socket whose owner was killed. */
async function abandonSocket(file: string): Promise<void> {
  const script = 'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, 9))';
  await once(spawn(process.execPath, ['-e', script, file]), 'exit');
}
