/** Commands of the system in a session on a server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, type Host, type Session } from '../../../src/index.ts';
import type { Server } from '../../../src/server/server.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import { openTestServer } from '../../support/remote-server.ts';

let server: Server;
let host: Host;
let session: Session;
beforeAll(async () => {
  server = await openTestServer();
  host = await connect(server.url);
  session = await host.createSession();
});
afterAll(async () => {
  await host?.close();
  await server?.close();
});

test('a command that is aborted ends as one of this machine does', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const running = session.exec(['sh', '-c', 'echo begun; sleep 60'], { signal, onOutput: () => controller.abort() });
  expect(await running).toMatchObject({ signal: 'SIGTERM', timedOut: false, reason: 'it was cancelled' });
  await expect(session.exec(['true'], { signal })).rejects.toMatchObject({ name: 'AbortError' });
});

test('a command whose listener throws is ended, and the error is that of the listener', async () => {
  const mine = new Error('enough');
  const onOutput = (): void => {
    throw mine;
  };
  await expect(session.exec(['sh', '-c', 'echo begun; sleep 60'], { onOutput })).rejects.toBe(mine);
});

test('a time limit, variables, a directory and bytes arrive', async () => {
  await session.files.upload('deep/file', 'x');
  const options = { cwd: 'deep', env: { MINE: 'ä' }, input: Uint8Array.of(0x61, 0x0a, 0xc3, 0xa4) };
  const { stdout } = await session.exec(['sh', '-c', 'ls; echo $MINE; cat'], options);
  expect(stdout).toBe('file\nä\na\nä');
  expect(await session.exec(['sleep', '60'], { timeoutMs: 200 })).toMatchObject({ timedOut: true });
});

test('what is written arrives in order, and the end after it', async () => {
  const command = await session.spawn(['cat']);
  const pieces = Array.from({ length: 50 }, (_, number) => `${number} ${'x'.repeat(1000)}\n`);
  const written = pieces.map((piece) => command.write(piece));
  command.closeInput();
  await Promise.all(written);
  expect((await command.result).stdout).toBe(pieces.join(''));
  await command.write('nobody reads this');
  expect(await command.kill()).toBe(false);
});

test('output comes whole and once over connections that break off', async () => {
  const proxy = await startCuttingProxy(server.url, { toServer: () => Infinity, toClient: () => 9000 });
  const near = await connect(proxy.url);
  const same = await near.getSession(session.id);
  const command = await same.spawn(['sh', '-c', 'for i in $(seq 300); do echo line $i; sleep 0.001; done']);
  expect((await command.result).stdout).toBe(Array.from({ length: 300 }, (_, i) => `line ${i + 1}\n`).join(''));
  expect(proxy.cuts()).toBeGreaterThan(1);
  await near.close();
});

test('closing the host ends its commands and leaves the session', async () => {
  const other = await connect(server.url);
  const command = await (await other.getSession(session.id)).spawn(['sleep', '60']);
  await other.close();
  expect(await command.result).toMatchObject({ reason: 'it was cancelled' });
  expect(await session.exec(['pgrep', '-x', 'sleep'])).toMatchObject({ stdout: '' });
});
