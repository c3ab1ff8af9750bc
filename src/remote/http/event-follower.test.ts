import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Connection } from './connection.ts';
import { followEvents } from './event-follower.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const frame = (id: number, event: string): string => `id: ${id}\nevent: ${event}\ndata: {"number":${id}}\n\n`;

/** Sends events and ends the stream, or the connection. */
function sends(text: string, how: 'ends' | 'cuts' = 'ends'): Answer {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(text, () => (how === 'ends' ? response.end() : response.socket?.resetAndDestroy()));
  };
}

function refuses(status: number, code: string): Answer {
  return (_, response) => response.writeHead(status).end(JSON.stringify({ code, message: 'No.' }));
}

/** Follows a stream of a server that gives these answers, one after the other. */
async function follow(answers: readonly Answer[]): Promise<{ numbers: unknown[]; asked: string[]; error: unknown }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    const answer = answers[asked.length];
    asked.push(`${request.method} ${request.url} ${String(request.headers['last-event-id'] ?? '-')}`);
    if (answer === undefined) request.socket.destroy();
    else answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connection = new Connection(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), undefined);
  onTestFinished(() => {
    connection.close();
    server.close();
    server.closeAllConnections();
  });
  const numbers: unknown[] = [];
  const read = (json: unknown): unknown => (json as { number: number }).number;
  const first = { method: 'POST', path: '/begin', json: '{}' } as const;
  try {
    const source = { what: 'run 1', first, path: '/events', read, last: 'done' };
    for await (const number of followEvents(connection, source)) numbers.push(number);
    return { numbers, asked, error: undefined };
  } catch (error) {
    return { numbers, asked, error };
  }
}

test('it comes back after the last event that it has seen, and tells none twice', async () => {
  const { numbers, asked, error } = await follow([
    sends(frame(1, 'output') + frame(2, 'output') + 'id: 3\nevent: out', 'cuts'),
    sends(frame(2, 'output') + frame(3, 'output')), // a server may send too much, and end too early
    sends(frame(4, 'done')),
  ]);
  expect(error).toBeUndefined();
  expect(numbers).toEqual([1, 2, 3, 4]);
  expect(asked).toEqual(['POST /begin -', 'GET /events 2', 'GET /events 3']);
});

test('what begins it is sent again until it is answered, and never after that', async () => {
  const cut: Answer = (request) => void request.socket.destroy();
  const { numbers, asked } = await follow([cut, cut, sends('', 'cuts'), sends(frame(1, 'done'))]);
  expect(numbers).toEqual([1]);
  expect(asked).toEqual(['POST /begin -', 'POST /begin -', 'POST /begin -', 'GET /events -']);
});

test('a server that is busy or stops is asked again', async () => {
  const { numbers } = await follow([
    sends(frame(1, 'output'), 'cuts'),
    refuses(429, 'RATE_LIMITED'),
    refuses(503, 'SERVER_CLOSING'),
    (_, response) => void response.writeHead(502).end('<html>'),
    sends(frame(2, 'done')),
  ]);
  expect(numbers).toEqual([1, 2]);
});

test('a server that knows nothing of it leaves its outcome unknown', async () => {
  const forgotten = await follow([sends(frame(1, 'output'), 'cuts'), refuses(404, 'RUN_NOT_FOUND')]);
  expect(forgotten).toMatchObject({ numbers: [1], error: { code: 'OUTCOME_UNKNOWN' } });
  const doubtful = await follow([refuses(409, 'IDEMPOTENCY_IN_DOUBT')]);
  expect(doubtful).toMatchObject({ numbers: [], error: { code: 'OUTCOME_UNKNOWN' } });
});

test('events that the server has dropped are not passed over in silence', async () => {
  const { numbers, error } = await follow([sends(frame(1, 'output'), 'cuts'), sends(frame(5, 'output'))]);
  expect(numbers).toEqual([1]);
  expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('3 events') as string });
});

test('an error that ends a run is thrown and not tried again, whatever it is', async () => {
  const failure = 'id: 1\nevent: error\ndata: {"code":"RATE_LIMITED","message":"No."}\n\n';
  const { asked, error } = await follow([sends(failure)]);
  expect(error).toMatchObject({ code: 'RATE_LIMITED' });
  expect(asked).toHaveLength(1);
});

test('a request that is refused was not carried out, and the reason is told as it is', async () => {
  const { asked, error } = await follow([refuses(410, 'SESSION_CLOSED')]);
  expect(error).toMatchObject({ code: 'SESSION_CLOSED', message: 'No.' });
  expect(asked).toHaveLength(1);
});
