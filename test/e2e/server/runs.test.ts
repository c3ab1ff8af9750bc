/** Runs over HTTP: answers, streams, coming back, background, cancelling, and never twice. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Execution } from '../../../src/execution/execution.ts';
import { eventsOf, type ReceivedEvent } from './event-reader.ts';
import { serve, type Served } from './served.ts';

let served: Served;
let session: string;
beforeAll(async () => {
  served = await serve({ reattachMs: 300 });
  session = `/v1/sessions/${idOf((await served.ask('POST', '/v1/sessions')).body)}`;
});
afterAll(() => served[Symbol.asyncDispose]());

function idOf(body: unknown): string {
  return (body as { id: string }).id;
}

async function run(body: object, headers: Record<string, string> = {}, where = `${session}/runs`) {
  const answer = await served.ask('POST', where, { body, headers });
  return { ...answer, execution: answer.body as Execution, run: answer.headers.get('vivarium-run') ?? '' };
}

function open(
  where: string,
  { method = 'GET', body, headers = {} }: { method?: string; body?: object; headers?: Record<string, string> } = {},
) {
  const signal = new AbortController();
  const answer = fetch(served.url + where, {
    method,
    headers: { accept: 'text/event-stream', 'content-type': 'application/json', ...headers },
    signal: signal.signal,
    ...(body && { body: JSON.stringify(body) }),
  });
  return { answer, leave: () => signal.abort() };
}

async function all(answer: Promise<Response>): Promise<ReceivedEvent[]> {
  return Array.fromAsync(eventsOf(await answer));
}

async function untilEnded(id: string): Promise<{ execution: Execution }> {
  const [last] = (await all(open(`/v1/runs/${id}/events`).answer)).slice(-1);
  expect(last?.type).toBe('done');
  return (await served.ask('GET', `/v1/runs/${id}`)).body as { execution: Execution };
}

test('a run is answered with its execution, whose id is that of the run', async () => {
  const { status, execution, run: id } = await run({ code: 'x = 20\nprint("hi")\nx + 1' });
  expect(status).toBe(200);
  expect(execution).toMatchObject({
    id,
    outcome: { status: 'succeeded' },
    logs: { stdout: 'hi\n' },
    results: [{ kind: 'result', data: { 'text/plain': '21' } }],
  });
  expect((await served.ask('GET', `/v1/runs/${id}`)).body).toEqual({
    id,
    sessionId: execution.sessionId,
    status: 'ended',
    execution,
  });
});

test('what a program does is a result, not an error', async () => {
  const raised = await run({ code: '1 / 0' });
  expect([raised.status, raised.execution.outcome.status, raised.execution.error?.name]).toEqual([
    200,
    'raised',
    'ZeroDivisionError',
  ]);
  const late = await run({ code: 'while True: pass', timeoutMs: 100 });
  expect([late.status, late.execution.outcome]).toEqual([200, { status: 'timed-out', limit: 'wall', limitMs: 100 }]);
});

test('a stream has the events of the library, numbered, and done last', async () => {
  const answer = await open(`${session}/runs`, { method: 'POST', body: { code: 'print(1)\n2' } }).answer;
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const events = await Array.fromAsync(eventsOf(answer));
  expect(events.map(({ id, type }) => [id, type])).toEqual([
    [1, 'output'],
    [2, 'result'],
    [3, 'done'],
  ]);
  expect(events[0]?.data).toEqual({ type: 'output', stream: 'stdout', text: '1\n' });
  expect(events[2]?.data).toMatchObject({
    type: 'done',
    summary: { id: answer.headers.get('vivarium-run'), outcome: { status: 'succeeded' } },
  });
});

test('events come while the code runs', async () => {
  const code =
    'import os, time\nprint("ready", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)\nos.remove("go")';
  const answer = await open(`${session}/runs`, { method: 'POST', body: { code } }).answer;
  const events = eventsOf(answer);
  expect((await events.next()).value).toMatchObject({ type: 'output' });
  await served.ask('PUT', `${session}/files/go`, { body: 'x' });
  expect((await Array.fromAsync(events)).at(-1)?.type).toBe('done');
});

test('a client that lost its connection comes back to where it was', async () => {
  const code = 'import os, time\nprint("a", flush=True)\nwhile not os.path.exists("on"): time.sleep(0.01)\nprint("b")';
  const { answer, leave } = open(`${session}/runs`, { method: 'POST', body: { code } });
  const id = (await answer).headers.get('vivarium-run') ?? '';
  const first = (await eventsOf(await answer).next()).value;
  expect(first).toMatchObject({ id: 1, data: { text: 'a\n' } });
  leave();
  const rest = all(open(`/v1/runs/${id}/events`, { headers: { 'last-event-id': '1' } }).answer);
  await served.ask('PUT', `${session}/files/on`, { body: 'x' });
  const [next] = await rest;
  expect(next).toMatchObject({ id: 2, data: { text: 'b\n' } });
  expect((await rest).at(-1)).toMatchObject({ type: 'done', data: { summary: { outcome: { status: 'succeeded' } } } });
});

test('a run that nobody waits for any more is cancelled after a while', async () => {
  const { answer, leave } = open(`${session}/runs`, { method: 'POST', body: { code: 'import time\ntime.sleep(60)' } });
  const id = (await answer).headers.get('vivarium-run') ?? '';
  leave();
  await answer.then((one) => one.text()).catch(() => undefined);
  // Asking for its state is not waiting for it.
  await expect
    .poll(async () => (await served.ask('GET', `/v1/runs/${id}`)).body, { timeout: 5000 })
    .toMatchObject({
      status: 'ended',
      execution: { outcome: { status: 'cancelled' } },
    });
});

test('the same holds for a client that waits for one answer', async () => {
  const leaving = new AbortController();
  const body = { code: 'import time\nprint("go", flush=True)\ntime.sleep(60)', executionId: 'abandoned-1' };
  const asking = served.ask('POST', `${session}/runs`, { body, signal: leaving.signal }).catch(() => undefined);
  await expect.poll(async () => (await served.ask('GET', '/v1/runs/abandoned-1')).status).toBe(200);
  leaving.abort();
  await asking;
  await expect
    .poll(async () => (await served.ask('GET', '/v1/runs/abandoned-1')).body, { timeout: 5000 })
    .toMatchObject({ execution: { outcome: { status: 'cancelled' } } });
});

test('a run in the background goes on, is seen, and can be cancelled', async () => {
  const { status, body, run: id } = await run({ code: 'import time\ntime.sleep(0.5)\n"slept"', background: true });
  expect([status, body]).toEqual([202, { id, sessionId: session.split('/').at(-1), status: 'running' }]);
  expect(await untilEnded(id)).toMatchObject({ execution: { outcome: { status: 'succeeded' } } });

  const long = await run({ code: 'import time\ntime.sleep(60)', background: true });
  expect((await served.ask('POST', `/v1/runs/${long.run}/cancel`)).status).toBe(204);
  expect(await untilEnded(long.run)).toMatchObject({ execution: { outcome: { status: 'cancelled' } } });
  expect((await served.ask('POST', `/v1/runs/${long.run}/cancel`)).status).toBe(204);
});

test('runs find their session by chat, and runs of their own leave nothing', async () => {
  await run({ code: 'x = 1', chatId: 'one' }, {}, '/v1/runs');
  const again = await run({ code: 'x + 1', chatId: 'one' }, {}, '/v1/runs');
  expect(again.execution.results[0]?.data).toEqual({ 'text/plain': '2' });
  const other = await run({ code: 'x', chatId: 'two' }, {}, '/v1/runs');
  expect(other.execution.error?.name).toBe('NameError');
  const once = await run({ code: '"alone"' }, {}, '/v1/runs/once');
  expect(once.execution.outcome.status).toBe('succeeded');
  expect((await served.ask('GET', `/v1/sessions/${once.execution.sessionId}`)).status).toBe(404);
  const events = await all(open('/v1/runs/once', { method: 'POST', body: { code: 'print(1)' } }).answer);
  expect(events.map(({ type }) => type)).toEqual(['output', 'done']);
});

test('a run that cannot be made ends its stream with the error', async () => {
  const { body: created } = await served.ask('POST', '/v1/sessions');
  const where = `/v1/sessions/${idOf(created)}`;
  const running = open(`${where}/runs`, {
    method: 'POST',
    body: { code: 'import time\nprint(1, flush=True)\ntime.sleep(60)' },
  });
  await eventsOf(await running.answer).next();
  const waiting = all(open(`${where}/runs`, { method: 'POST', body: { code: '1' } }).answer);
  await expect.poll(async () => (await served.ask('GET', where)).body).toMatchObject({ queued: 1 });
  await served.ask('DELETE', where);
  expect(await waiting).toMatchObject([{ id: 1, type: 'error', data: { code: 'SESSION_CLOSED' } }]);
});

test('an id that is in use is refused, and so are unknown options and wrong bodies', async () => {
  expect((await run({ code: '1', executionId: 'chosen-1' })).execution.id).toBe('chosen-1');
  expect(await run({ code: '1', executionId: 'chosen-1' })).toMatchObject({
    status: 400,
    body: { code: 'CONFIG_INVALID' },
  });
  expect(await run({ code: '1', timeoutms: 5 })).toMatchObject({ status: 400, body: { code: 'CONFIG_INVALID' } });
  expect(await run({ code: '1', signal: {} })).toMatchObject({ status: 400 });
  const text = { headers: { 'content-type': 'text/plain' }, body: '{"code": "1"}' };
  expect(await served.ask('POST', '/v1/runs', text)).toMatchObject({ status: 415, body: { code: 'REQUEST_INVALID' } });
  const half = { headers: { 'content-type': 'application/json' }, body: '{"code": ' };
  expect(await served.ask('POST', '/v1/runs', half)).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
  expect(await served.ask('GET', '/v1/runs/nobody')).toMatchObject({ status: 404, body: { code: 'RUN_NOT_FOUND' } });
  const last = { headers: { 'last-event-id': 'x' } };
  expect(await served.ask('GET', '/v1/runs/chosen-1/events', last)).toMatchObject({ status: 400 });
});

test('a body that is too large is refused before it is read', async () => {
  const body = { code: `x = "${'a'.repeat(17 << 20)}"` };
  expect(await run(body)).toMatchObject({ status: 413, body: { code: 'REQUEST_TOO_LARGE' } });
});

test('the same key never runs code twice', async () => {
  const key = { 'idempotency-key': 'key 1' };
  const body = { code: 'count = globals().get("count", 0) + 1\ncount' };
  const first = await run(body, key);
  const second = await run(body, key);
  expect(second.body).toEqual(first.body);
  expect(await run({ code: 'count' })).toMatchObject({ body: { results: [{ data: { 'text/plain': '1' } }] } });
  expect(await run({ code: 'count' }, key)).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_MISMATCH' } });
  expect(await run(body, { 'idempotency-key': 'k'.repeat(256) })).toMatchObject({ status: 400 });
});

test('requests with the same key at the same time share one run, streams too', async () => {
  const key = { 'idempotency-key': 'key 2' };
  const body = { code: 'import time\ntime.sleep(0.2)\nshared = globals().get("shared", 0) + 1\nshared' };
  const answers = await Promise.all([run(body, key), run(body, key), run(body, key)]);
  expect(new Set(answers.map(({ run: id }) => id)).size).toBe(1);
  const streamed = open(`${session}/runs`, { method: 'POST', body, headers: key });
  const events = await all(streamed.answer);
  expect(events.map(({ type }) => type)).toEqual(['result', 'done']);
  expect((await run({ code: 'shared' })).execution.results[0]?.data).toEqual({ 'text/plain': '1' });
});

test('a key is free again after a request that was refused before any code ran', async () => {
  const key = { 'idempotency-key': 'key 3' };
  const where = '/v1/sessions/not-yet/runs';
  expect((await run({ code: '1' }, key, where)).status).toBe(404);
  await served.ask('POST', '/v1/sessions', { body: { id: 'not-yet' } });
  expect((await run({ code: '1' }, key, where)).status).toBe(200);
});

test('a slow reader slows the program down, and gets everything', async () => {
  const code = 'import sys\nfor i in range(200): print("x" * 99_999)\nprint("end")';
  const answer = await open(`${session}/runs`, { method: 'POST', body: { code } }).answer;
  let bytes = 0;
  let isDone = false;
  for await (const { type, data } of eventsOf(answer)) {
    if (type === 'output') bytes += String(data['text']).length;
    isDone ||= type === 'done';
    if (bytes < 1e6) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect([bytes, isDone]).toEqual([200 * 100_000 + 4, true]);
});
