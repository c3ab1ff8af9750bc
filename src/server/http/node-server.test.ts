/** What a client can hold up, tried over raw sockets with short limits. */
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { CONNECTION_LIMITS, createNodeServer, type ConnectionLimits } from './node-server.ts';

const QUICK: ConnectionLimits = { ...CONNECTION_LIMITS, headersMs: 100, idleMs: 150, keepAliveMs: 100, lingerMs: 100 };
const POST = 'POST / HTTP/1.1\r\nHost: x\r\n';

const opened: (Server | Socket)[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) {
    if (!('listening' in one)) one.destroy();
    else {
      one.closeAllConnections();
      one.close();
    }
  }
});

async function listen(listener: RequestListener, limits: Partial<ConnectionLimits> = {}): Promise<Server> {
  const server = createNodeServer(listener, { ...QUICK, ...limits });
  opened.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

interface Connection {
  readonly socket: Socket;
  /** Everything that arrived until the server closed the connection. */
  readonly closed: Promise<string>;
}

async function dial(server: Server): Promise<Connection> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  opened.push(socket);
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString()));
  socket.on('error', () => undefined); // a reset is an end, too
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  await once(socket, 'connect');
  return { socket, closed };
}

const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => response.end(`read ${Buffer.concat(chunks).length}`));
};

describe('A connection is closed', () => {
  test('if it never says anything', async () => {
    const { closed } = await dial(await listen(echo));
    expect(await closed).toMatch(/^$|408/);
  });

  test('if its headers do not end in time, however often another one comes', async () => {
    const { socket, closed } = await dial(await listen(echo));
    socket.write(POST);
    const dripping = setInterval(() => socket.write('X-Drip: 1\r\n'), 20);
    expect(await closed).toContain('HTTP/1.1 408 Request Timeout');
    clearInterval(dripping);
  });

  test('if nothing of its body arrives for too long', async () => {
    const { socket, closed } = await dial(await listen(echo));
    socket.write(`${POST}Content-Length: 10\r\n\r\n123`);
    expect(await closed).toBe('');
  });

  test('if it does not take its answer', async () => {
    const server = await listen((_, response) => {
      const fill = (): void => {
        while (response.write(Buffer.alloc(65_536)));
        response.once('drain', fill);
      };
      fill();
    });
    const { socket } = await dial(server);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.pause();
    const [held] = (await once(server, 'request')) as [{ socket: Socket }];
    await once(held.socket, 'close');
    expect(held.socket.destroyed).toBe(true);
  });

  test('if no other request comes', async () => {
    const { socket, closed } = await dial(await listen(echo));
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await closed).toContain('read 0');
  });

  test('soon after an answer that did not wait for the body', async () => {
    const server = await listen((_, response) => response.writeHead(413).end('too large'), { idleMs: 60_000 });
    const { socket, closed } = await dial(server);
    socket.write(`${POST}Content-Length: 1000000\r\n\r\n`);
    const dripping = setInterval(() => socket.write('x'), 10);
    expect(await closed).toMatch(/^HTTP\/1\.1 413 [^]*too large/);
    clearInterval(dripping);
  });
});

describe('A connection is kept', () => {
  test('while an answer takes its time', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const server = await listen((_, response) => void promise.then(() => response.end('at last')));
    const { socket, closed } = await dial(server);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    setTimeout(resolve, 4 * QUICK.idleMs);
    expect(await closed).toContain('at last');
  });

  test('while a body arrives slowly', async () => {
    const { socket, closed } = await dial(await listen(echo));
    socket.write(`${POST}Connection: close\r\nContent-Length: 10\r\n\r\n`);
    let sent = 0;
    const dripping = setInterval(() => {
      socket.write('x');
      if ((sent += 1) === 10) clearInterval(dripping);
    }, QUICK.idleMs / 3);
    expect(await closed).toContain('read 10');
  });

  test('while the server itself does not read the body yet', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const server = await listen((request, response) => void promise.then(() => echo(request, response)));
    const { socket, closed } = await dial(server);
    socket.write(`${POST}Connection: close\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`);
    setTimeout(resolve, 4 * QUICK.idleMs);
    expect(await closed).toContain('read 200000');
  });
});

test('a client has its own time after the server took its time', async () => {
  const idleMs = 400;
  const { promise, resolve } = Promise.withResolvers<void>();
  const server = await listen((request, response) => void promise.then(() => echo(request, response)), { idleMs });
  const { socket, closed } = await dial(server);
  socket.write(`${POST}Connection: close\r\nContent-Length: 20\r\n\r\n0123456789`);
  setTimeout(resolve, 1.5 * idleMs); // then the server waits for the rest
  setTimeout(() => socket.write('0123456789'), 2.3 * idleMs);
  expect(await closed).toContain('read 20');
});

describe('What is not HTTP', () => {
  test.for([
    ['\0\0\0\0', '400'],
    ['\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03', '400'], // TLS
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '400'],
    ['GET / HTTP/9.9\r\n\r\n', '400'],
    ['GET / HTTP/1.1\r\nHost : x\r\n\r\n', '400'],
    ['GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n', '400'],
    ['GET / HTTP/1.1\r\n\r\n', '400'], // no Host
    [`${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, '400'],
    [`${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`, '400'],
    [`${POST}Content-Length: -1\r\n\r\n`, '400'],
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, '431'],
    [`GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, '431'],
  ] as const)('is answered once and closed: %j', async ([sent, status]) => {
    const { socket, closed } = await dial(await listen(echo));
    socket.write(sent);
    const answer = await closed;
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test('gets no answer of its own behind a request that is not answered yet', async () => {
    const server = await listen(() => undefined);
    const { socket, closed } = await dial(server);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(server, 'request');
    socket.write('nonsense\r\n\r\n');
    expect(await closed).toBe('');
  });

  test('of the headers nothing is left out without a word', async () => {
    const many = Array.from({ length: 2500 }, (_, index) => `${index.toString(36)}:`).join('\r\n');
    const server = await listen((request, response) => response.end(`${request.rawHeaders.length / 2} headers`));
    const { socket, closed } = await dial(server);
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${many}\r\n\r\n`);
    expect(await closed).toContain('2502 headers');
  });
});

test('connections beyond the limit are not taken', async () => {
  const server = await listen(echo, { maxConnections: 2, headersMs: 10_000 });
  const kept = [await dial(server), await dial(server)];
  const { closed } = await dial(server);
  expect(await closed).toBe('');
  expect(kept.every(({ socket }) => !socket.destroyed)).toBe(true);
});
