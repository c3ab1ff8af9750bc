/** What is asked of sessions over HTTP besides runs: their life, variables, tables, packages, notebooks, commands. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Notebook } from '../../../src/notebook/nbformat.ts';
import { eventsOf } from './event-reader.ts';
import { serve, type Served } from './served.ts';

let served: Served;
let session: string;
beforeAll(async () => {
  served = await serve();
  session = await open();
});
afterAll(() => served[Symbol.asyncDispose]());

async function open(body: object = {}): Promise<string> {
  return `/v1/sessions/${((await served.ask('POST', '/v1/sessions', { body })).body as { id: string }).id}`;
}

async function run(code: string, where = session): Promise<unknown> {
  return (await served.ask('POST', `${where}/runs`, { body: { code } })).body;
}

test('a session is opened, found, listed and closed', async () => {
  const created = await served.ask('POST', '/v1/sessions', { body: { id: 'mine', clientId: 'a client' } });
  expect(created).toMatchObject({
    status: 201,
    body: { id: 'mine', clientId: 'a client', status: 'idle', isolation: {} },
  });
  expect((await served.ask('GET', '/v1/sessions/mine')).body).toMatchObject({ id: 'mine', executions: 0 });
  expect((await served.ask('GET', '/v1/sessions?clientId=a%20client')).body).toMatchObject({
    sessions: [{ id: 'mine' }],
  });
  expect((await served.ask('GET', '/v1/sessions?clientid=x')).status).toBe(400);
  expect(await served.ask('POST', '/v1/sessions', { body: { id: 'mine' } })).toMatchObject({ status: 409 });
  expect((await served.ask('DELETE', '/v1/sessions/mine')).status).toBe(204);
  expect(await served.ask('GET', '/v1/sessions/mine')).toMatchObject({ status: 410, body: { code: 'SESSION_CLOSED' } });
  expect(await served.ask('GET', '/v1/sessions/none')).toMatchObject({
    status: 404,
    body: { code: 'SESSION_NOT_FOUND' },
  });
});

test('running code is interrupted, the last run is undone, and a reset forgets everything', async () => {
  await run('kept = 1');
  const running = served.ask('POST', `${session}/runs`, { body: { code: 'import time\ntime.sleep(60)' } });
  await expect.poll(async () => (await served.ask('GET', session)).body).toMatchObject({ status: 'running' });
  let isOver = false;
  void running.then(() => (isOver = true));
  await expect
    .poll(async () => {
      if (!isOver) await served.ask('POST', `${session}/interrupt`); // it may not have begun to sleep yet
      return isOver;
    })
    .toBe(true);
  expect((await running).body).toMatchObject({
    outcome: { status: 'cancelled' },
    error: { name: 'KeyboardInterrupt' },
  });
  await run('kept = 2');
  expect(await served.ask('POST', `${session}/rollback`)).toMatchObject({ status: 200, body: { files: 'restored' } });
  expect(await run('kept')).toMatchObject({ results: [{ data: { 'text/plain': '1' } }] });
  expect((await served.ask('POST', `${session}/reset`)).status).toBe(204);
  expect(await run('kept')).toMatchObject({ error: { name: 'NameError' } });
});

test('variables are set, listed and completed', async () => {
  expect((await served.ask('PUT', `${session}/variables`, { body: { limit: 3, words: ['a'] } })).status).toBe(204);
  expect((await served.ask('PUT', `${session}/context`, { body: { SENSOR: { one: { value: 4 } } } })).status).toBe(204);
  expect(await run('limit + context.SENSOR.one.value')).toMatchObject({ results: [{ data: { 'text/plain': '7' } }] });
  const { variables } = (await served.ask('GET', `${session}/variables`)).body as { variables: { name: string }[] };
  expect(variables.map(({ name }) => name)).toEqual(expect.arrayContaining(['limit', 'words', 'context']));
  const completed = await served.ask('POST', `${session}/completions`, { body: { code: 'lim + 1', cursor: 3 } });
  expect(completed.body).toEqual({ matches: ['limit'], start: 0, end: 3 });
  expect((await served.ask('POST', `${session}/completions`, { body: { code: 'a', cursor: 9 } })).status).toBe(400);
});

test('a table becomes an artifact', async () => {
  await run('import pandas as pd\nframe = pd.DataFrame({"a": [1, 2]})');
  const { status, body } = await served.ask('POST', `${session}/tables`, { body: { name: 'frame' } });
  expect([status, body]).toMatchObject([201, { name: 'frame.csv' }]);
  const content = await served.ask('GET', `/v1/artifacts/${(body as { id: string }).id}/content`);
  expect(content.body).toBe('a\n1\n2\n');
  const missing = await served.ask('POST', `${session}/tables`, { body: { name: 'nothing' } });
  expect(missing).toMatchObject({ status: 422, body: { code: 'TABLE_UNAVAILABLE' } });
});

test('packages need to be allowed', async () => {
  const asked = await served.ask('POST', `${session}/packages`, { body: { requirements: 'six' } });
  expect(asked).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
});

test('the notebook of a session is there after its end', async () => {
  const where = await open();
  await run('first = 1\nprint(first)', where);
  await served.ask('PUT', `${where}/variables`, { body: { second: 2 } });
  await run('wrong = 0', where);
  await served.ask('POST', `${where}/rollback`);
  await run('first + second', where);
  const live = (await served.ask('GET', `${where}/notebook?title=Mine`)).body as Notebook;
  await served.ask('DELETE', where);
  const past = (await served.ask('GET', `${where}/notebook?title=Mine`)).body as Notebook;
  const contents = ({ cells }: Notebook) =>
    cells.map((cell) => [cell.cell_type, cell.source, cell.cell_type === 'code' && cell.outputs.length]);
  expect(contents(past)).toEqual(contents(live));
  expect(JSON.stringify(past)).not.toContain('wrong');
  const all = (await served.ask('GET', `${where}/notebook?includePast=true`)).body;
  expect(JSON.stringify(all)).toContain('wrong');
  expect((await served.ask('GET', '/v1/sessions/none/notebook')).status).toBe(404);
});

test('a command runs beside Python, on the same files', async () => {
  await run('open("note", "w").write("from python")');
  const body = { argv: ['bash', '-c', 'cat note -; echo $NAME >&2; exit 3'], input: ' and me', env: { NAME: 'x' } };
  const { status, body: result, headers } = await served.ask('POST', `${session}/commands`, { body });
  expect([status, result]).toMatchObject([200, { exitCode: 3, stdout: 'from python and me', stderr: 'x\n' }]);
  expect(headers.get('vivarium-command')).toMatch(/^[\da-f-]{36}$/);
});

test('a command is started, written to, followed from anywhere, and signalled', async () => {
  const started = await served.ask('POST', `${session}/commands`, { body: { argv: ['cat'], background: true } });
  const { id, pid } = started.body as { id: string; pid: number };
  expect([started.status, pid > 0]).toEqual([201, true]);
  await served.ask('POST', `/v1/commands/${id}/input`, { body: 'one\n' });
  const answer = await fetch(`${served.url}/v1/commands/${id}/events`);
  expect((await eventsOf(answer).next()).value).toMatchObject({ id: 1, type: 'output', data: { text: 'one\n' } });
  await served.ask('POST', `/v1/commands/${id}/input?end=true`, { body: 'two\n' });
  const rest = await fetch(`${served.url}/v1/commands/${id}/events`, { headers: { 'last-event-id': '1' } });
  expect(await Array.fromAsync(eventsOf(rest))).toMatchObject([
    { id: 2, data: { text: 'two\n' } },
    { id: 3, type: 'ended', data: { result: { exitCode: 0, stdout: 'one\ntwo\n' } } },
  ]);
  expect((await served.ask('POST', `/v1/commands/${id}/signal`)).body).toEqual({ delivered: false });

  const long = await served.ask('POST', `${session}/commands`, { body: { argv: ['sleep', '60'], background: true } });
  const where = `/v1/commands/${(long.body as { id: string }).id}`;
  expect((await served.ask('POST', `${where}/signal`, { body: { signal: 'SIGTERM' } })).body).toEqual({
    delivered: true,
  });
  const ended = await Array.fromAsync(eventsOf(await fetch(`${served.url}${where}/events`)));
  expect(ended.at(-1)).toMatchObject({ type: 'ended', data: { result: { signal: 'SIGTERM' } } });
  expect(await served.ask('GET', '/v1/commands/none/events')).toMatchObject({
    status: 404,
    body: { code: 'COMMAND_NOT_FOUND' },
  });
});

test('a command streams while it runs', async () => {
  const answer = await fetch(`${served.url}${session}/commands`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ argv: ['sh', '-c', 'echo a; echo b'] }),
  });
  const events = await Array.fromAsync(eventsOf(answer));
  expect(events.at(-1)).toMatchObject({ type: 'ended', data: { result: { stdout: 'a\nb\n' } } });
});
