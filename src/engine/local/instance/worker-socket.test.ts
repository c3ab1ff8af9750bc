import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { WorkerSocket, type WorkerConnections } from './worker-socket.ts';

const KINDS = ['control', 'stdout', 'stderr'] as const;

async function start(): Promise<WorkerSocket> {
  const socket = await WorkerSocket.start();
  onTestFinished(() => socket.close());
  return socket;
}

/** A client that says something, and whether it was sent away. */
function knock(
  { socketPath }: WorkerSocket,
  ...words: readonly (string | Buffer)[]
): { client: Socket; left: Promise<unknown> } {
  const client = connect(socketPath);
  onTestFinished(() => void client.destroy());
  client.on('error', () => client.destroy());
  for (const word of words) client.write(word);
  client.resume();
  return { client, left: new Promise((resolve) => client.once('close', resolve)) };
}

const hello = (kind: string, token = 'secret', ticket = 't1'): string => `${JSON.stringify({ kind, ticket, token })}\n`;

test('a worker has arrived when it has made its three connections, in any order', async () => {
  const socket = await start();
  for (const order of [KINDS, KINDS.toReversed(), ['stdout', 'control', 'stderr'] as const]) {
    const arriving = socket.claim('t1');
    const clients = order.map((kind) => knock(socket, hello(kind), `I am ${kind}`).client);
    const connections = await arriving;
    for (const kind of KINDS) {
      const [chunk] = (await once(connections[kind].resume(), 'data')) as [Buffer];
      expect(String(chunk)).toBe(`I am ${kind}`);
    }
    for (const client of clients) client.destroy();
  }
});

test('a worker may come long before it is claimed, and nothing is lost of what it says', async () => {
  const socket = await start();
  const clients = KINDS.map((kind) => knock(socket, hello(kind), 'early').client);
  await Promise.all(clients.map((client) => once(client, 'connect')));
  await new Promise(setImmediate);
  const { control, stdout, stderr } = await socket.claim('t1');
  clients[0]?.end(' and late');
  expect(await text(control)).toBe('early and late');
  for (const other of [stdout, stderr]) other.destroy();
});

test('a worker that ends before it is claimed is forgotten', async () => {
  const socket = await start();
  const first = KINDS.map((kind) => knock(socket, hello(kind)));
  await Promise.all(first.map(({ client }) => once(client, 'connect')));
  await new Promise(setImmediate);
  first[1]?.client.destroy();
  await Promise.all(first.map(({ left }) => left));
  for (const kind of KINDS) knock(socket, hello(kind, 'another'));
  expect(Object.keys(await socket.claim('t1'))).toEqual([...KINDS]);
});

test('nothing is lost of what follows the first line, wherever it is cut', async () => {
  const socket = await start();
  const line = hello('control');
  for (let cut = 1; cut < line.length; cut += 7) {
    const arriving = socket.claim('t1');
    const { client } = knock(socket, line.slice(0, cut));
    await new Promise(setImmediate);
    client.write(`${line.slice(cut)}and more`);
    for (const kind of ['stdout', 'stderr']) knock(socket, hello(kind));
    const { control } = await arriving;
    client.end();
    expect(await text(control), `cut at ${cut}`).toBe('and more');
  }
});

test.for<[string, string | Buffer]>([
  ['no JSON', 'GET / HTTP/1.1\n'],
  ['JSON that is no object', '[]\n'],
  ['null', 'null\n'],
  ['an empty line', '\n'],
  ['no token', '{"ticket":"t1","kind":"control"}\n'],
  ['a token that is no text', '{"ticket":"t1","kind":"control","token":1}\n'],
  ['a ticket that is no text', '{"ticket":["t1"],"kind":"control","token":"secret"}\n'],
  ['a kind that there is not', hello('stdin')],
  ['mounts of no enclosure', '{"kind":"mounts"}\n'],
  ['mounts of an enclosure that has none', '{"kind":"mounts","enclosure":"s1"}\n'],
  ['the name of a property of objects', '{"kind":"mounts","enclosure":"__proto__"}\n'],
  ['more than a first line may have', 'x'.repeat(513)],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0x0a])],
])('a connection that says %s is closed, and the worker can still come', async ([, words]) => {
  const socket = await start();
  const arriving = socket.claim('t1');
  await knock(socket, words).left;
  for (const kind of KINDS) knock(socket, hello(kind));
  expect(Object.keys(await arriving)).toEqual([...KINDS]);
});

test('a long line is read as long as it may be', async () => {
  const socket = await start();
  const token = 't'.repeat(512 - hello('control', '').length);
  const arriving = socket.claim('t1');
  for (const kind of KINDS) knock(socket, hello(kind, token));
  expect(Object.keys(await arriving)).toEqual([...KINDS]);
});

test('a connection with another token than the first is closed', async () => {
  const socket = await start();
  const arriving = socket.claim('t1');
  const first = knock(socket, hello('control'));
  await once(first.client, 'connect');
  await new Promise(setImmediate);
  await knock(socket, hello('stdout', 'guess')).left;
  for (const kind of ['stdout', 'stderr']) knock(socket, hello(kind));
  expect(Object.keys(await arriving)).toEqual([...KINDS]);
});

test('mounts are told as long as they are offered', async () => {
  const socket = await start();
  const ask = `{"kind":"mounts","enclosure":"s1"}\n`;
  socket.offer('s1', { mounts: [{ source: '/srv/data' }] });
  for (let times = 0; times < 2; times += 1) {
    const { client } = knock(socket, ask);
    expect(JSON.parse(await text(client))).toEqual([{ source: '/srv/data' }]);
  }
  socket.withdraw('s1');
  expect(await text(knock(socket, ask).client)).toBe('');
});

test('a second connection of the same kind is closed, and the first one counts', async () => {
  const socket = await start();
  const arriving = socket.claim('t1');
  const first = knock(socket, hello('control'), 'first').client;
  await new Promise(setImmediate);
  await knock(socket, hello('control'), 'second').left;
  expect(first.destroyed).toBe(false);
  for (const kind of ['stdout', 'stderr']) knock(socket, hello(kind));
  const [chunk] = (await once((await arriving).control.resume(), 'data')) as [Buffer];
  expect(String(chunk)).toBe('first');
});

test('a ticket is good for one worker', async () => {
  const socket = await start();
  const first = socket.claim('t1');
  for (const kind of KINDS) knock(socket, hello(kind));
  const connections = await first;
  for (const kind of KINDS) knock(socket, hello(kind), 'late');
  const others = await socket.claim('t1');
  for (const kind of KINDS) {
    expect(others[kind]).not.toBe(connections[kind]);
    for (const one of [connections, others]) one[kind].destroy();
  }
});

test('a worker that is not wanted any more is sent away, also what it has connected so far', async () => {
  const socket = await start();
  let hasArrived = false;
  void socket.claim('t1').then(() => (hasArrived = true));
  const early = knock(socket, hello('control'));
  await expect.poll(() => early.client.bytesWritten > 0 && !early.client.connecting).toBe(true);
  await new Promise(setImmediate);
  socket.forget('t1');
  socket.forget('t1');
  socket.forget('unknown');
  await early.left;
  for (const kind of KINDS) knock(socket, hello(kind));
  await new Promise(setImmediate);
  expect(hasArrived).toBe(false);
});

test('many workers at once each get their own connections', async () => {
  const socket = await start();
  const names = Array.from({ length: 30 }, (_, index) => `t${index}`);
  const arriving = names.map((name) => socket.claim(name));
  for (const kind of KINDS)
    for (const name of names) knock(socket, hello(kind, `token of ${name}`, name), `${name} ${kind}`);
  const heard = await Promise.all(
    arriving.map(async (worker) => {
      const connections: WorkerConnections = await worker;
      const [chunk] = (await once(connections.stderr.resume(), 'data')) as [Buffer];
      for (const kind of KINDS) connections[kind].destroy(); // they belong to the caller that expected the worker
      return String(chunk);
    }),
  );
  expect(heard).toEqual(names.map((name) => `${name} stderr`));
});

test('only this user can enter the directory of the socket', async () => {
  const socket = await start();
  const directory = path.dirname(socket.socketPath);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(path.basename(directory)).toMatch(new RegExp(`^vivarium-${process.pid}-\\w{6}$`));
  expect(readdirSync(directory)).toEqual(['engine.sock']);
});

test('closing rejects callers that wait, removes the directory, and can be done twice', async () => {
  const socket = await WorkerSocket.start();
  void socket.claim('t1');
  const waiting = knock(socket, hello('control'));
  await once(waiting.client, 'connect');
  await new Promise(setImmediate);
  const closing = socket.close();
  await waiting.left;
  await closing;
  await socket.close();
  expect(existsSync(path.dirname(socket.socketPath))).toBe(false);
});
