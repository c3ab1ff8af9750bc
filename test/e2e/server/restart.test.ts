/** What outlives a server that is killed, and how one ends that is stopped. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import type { Execution } from '../../../src/execution/execution.ts';
import type { LogEntry } from '../../../src/log.ts';
import { startServer, type ServerOptions } from '../../../src/server.ts';
import { eventsOf } from './event-reader.ts';

const PROGRAM = path.join(import.meta.dirname, 'programs/serving.ts');

async function settings() {
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
  const { python } = environment;
  const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-restart-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  return { dataDir, python };
}

async function startChild({ dataDir, python }: { dataDir: string; python: string }) {
  const child = fork(PROGRAM, [dataDir, python], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  onTestFinished(() => kill(child));
  const [url] = (await once(child, 'message')) as [string];
  return { child, url };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function start(options: ServerOptions) {
  const { dataDir, python } = await settings();
  const hostOptions = { dataDir, python, preload: [], poolSize: 0, ...options.hostOptions };
  const server = await startServer({ ...options, hostOptions });
  onTestFinished(() => server.close());
  return server;
}

function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

test('after kill -9, runs, notebooks and keys of requests are there, and nothing runs twice', async () => {
  const place = await settings();
  const first = await startChild(place);
  const { id } = (await (await post(`${first.url}/v1/sessions`, {})).json()) as { id: string };
  const runs = `/v1/sessions/${id}/runs`;
  const code = { code: 'print("once")\n6 * 7' };
  const ended = (await (await post(first.url + runs, code, { 'idempotency-key': 'ended' })).json()) as Execution;
  const stuck = { code: 'import time\nprint("go", flush=True)\ntime.sleep(60)' };
  const stream = await post(first.url + runs, stuck, { 'idempotency-key': 'stuck', accept: 'text/event-stream' });
  await eventsOf(stream).next();
  await kill(first.child);

  const { url } = await startChild(place);
  const seen = await fetch(`${url}/v1/runs/${ended.id}`);
  expect(await seen.json()).toEqual({ id: ended.id, sessionId: id, status: 'ended', execution: ended });
  const repeated = await post(url + runs, code, { 'idempotency-key': 'ended' });
  expect([repeated.status, await repeated.json()]).toEqual([200, ended]); // although its session is gone
  expect((await post(url + runs, code, { 'idempotency-key': 'new' })).status).toBe(404);
  const notebook = await fetch(`${url}/v1/sessions/${id}/notebook`);
  expect(JSON.stringify(await notebook.json())).toContain('6 * 7');
  const replayed = await Array.fromAsync(eventsOf(await fetch(`${url}/v1/runs/${ended.id}/events`)));
  expect(replayed.map(({ type }) => type)).toEqual(['output', 'result', 'done']);
  const later = await fetch(`${url}/v1/runs/${ended.id}/events`, { headers: { 'last-event-id': '1' } });
  expect([later.status, await later.json()]).toMatchObject([404, { code: 'RUN_NOT_FOUND' }]);
});

test('after kill -9, a key answers what its first request did, or that this is not known', async () => {
  const place = await settings();
  const first = await startChild(place);
  const code = { code: '"answer"', chatId: 'c' };
  const ended = (await (await post(`${first.url}/v1/runs`, code, { 'idempotency-key': 'ended' })).json()) as Execution;
  const stuck = { code: 'import time\nprint("go", flush=True)\ntime.sleep(60)', chatId: 'd' };
  const stream = await post(`${first.url}/v1/runs`, stuck, { 'idempotency-key': 'stuck', accept: 'text/event-stream' });
  const run = stream.headers.get('vivarium-run') ?? '';
  await eventsOf(stream).next();
  await kill(first.child);

  const { url } = await startChild(place);
  const again = await post(`${url}/v1/runs`, code, { 'idempotency-key': 'ended' });
  expect([again.status, await again.json()]).toEqual([200, ended]);
  const streamed = await post(`${url}/v1/runs`, code, { 'idempotency-key': 'ended', accept: 'text/event-stream' });
  expect((await Array.fromAsync(eventsOf(streamed))).map(({ type }) => type)).toEqual(['result', 'done']);
  const doubtful = await post(`${url}/v1/runs`, stuck, { 'idempotency-key': 'stuck' });
  expect([doubtful.status, await doubtful.json()]).toMatchObject([
    409,
    { code: 'IDEMPOTENCY_IN_DOUBT', message: expect.stringContaining(run) as unknown },
  ]);
});

test('a server that is closed lets running code end, and takes nothing new', async () => {
  const server = await start({ drainMs: 20_000 });
  const running = post(`${server.url}/v1/runs`, { code: 'import time\ntime.sleep(0.5)\n"ended"' });
  const stream = await post(
    `${server.url}/v1/runs`,
    { code: 'print(1)', chatId: 'b' },
    { accept: 'text/event-stream' },
  );
  await stream.text();
  const closed = server.close();
  expect(server.close()).toBe(closed);
  await expect(post(`${server.url}/v1/runs`, { code: '1' })).rejects.toThrow('fetch failed');
  expect(await (await running).json()).toMatchObject({ outcome: { status: 'succeeded' } });
  await closed;
});

test('what does not end in time is cancelled, and those who wait are told', async () => {
  const server = await start({ drainMs: 100 });
  const code = 'import time\nprint("go", flush=True)\ntime.sleep(60)';
  const stream = await post(`${server.url}/v1/runs`, { code, chatId: 'a' }, { accept: 'text/event-stream' });
  const events = eventsOf(stream);
  await events.next();
  const once1 = post(`${server.url}/v1/runs`, { code, chatId: 'b' });
  const { id } = (await (await post(`${server.url}/v1/sessions`, {})).json()) as { id: string };
  const command = await post(`${server.url}/v1/sessions/${id}/commands`, { argv: ['sleep', '60'], background: true });
  expect(command.status).toBe(201);
  const startedMs = performance.now();
  const closed = server.close();
  expect((await Array.fromAsync(events)).at(-1)).toMatchObject({
    type: 'done',
    data: { summary: { outcome: { status: 'cancelled' } } },
  });
  expect(await (await once1).json()).toMatchObject({ outcome: { status: 'cancelled' } });
  await closed;
  expect(performance.now() - startedMs).toBeLessThan(8000);
});

test('one entry is logged for each request and each event of a session, without code and output', async () => {
  const entries: LogEntry[] = [];
  const server = await start({ hostOptions: { log: (entry) => entries.push(entry) } });
  const execution = (await (await post(`${server.url}/v1/runs`, { code: 'print("secret")' })).json()) as Execution;
  await (await fetch(`${server.url}/v1/nothing`)).text();
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  await server.close();
  const { sessionId, id: executionId } = execution;
  expect(entries).toMatchObject([
    { level: 'info', event: 'session-opened', sessionId, clientId: null },
    { level: 'info', event: 'run-ended', sessionId, executionId, outcome: 'succeeded', state: 'preserved' },
    { event: 'request', method: 'POST', path: '/v1/runs', status: 200, client: 'local' },
    { event: 'request', method: 'GET', path: '/v1/nothing', status: 404 },
    { event: 'request', path: '/metrics', status: 200 },
    { event: 'session-ended', sessionId, reason: 'it was closed' },
  ]);
  expect(JSON.stringify(entries)).not.toContain('secret');
  expect(metrics).toMatch(/^vivarium_sessions 1$/m);
  expect(metrics).toMatch(/^vivarium_pool_sessions \d+$/m);
  expect(metrics).toMatch(/^vivarium_runs_total\{outcome="succeeded"\} 1$/m);
  expect(metrics).toMatch(/^vivarium_http_requests_total\{status="404"\} 1$/m);
  expect(metrics).toMatch(/^vivarium_run_duration_seconds_count 1$/m);
});

test('code and output are logged if they are asked for', async () => {
  const entries: LogEntry[] = [];
  const server = await start({ hostOptions: { log: (entry) => entries.push(entry), logCode: true } });
  await (await post(`${server.url}/v1/runs`, { code: 'print("seen")\n7' })).text();
  await server.close();
  expect(entries.find(({ event }) => event === 'run-ended')).toMatchObject({
    code: 'print("seen")\n7',
    output: 'seen\n7',
  });
});
