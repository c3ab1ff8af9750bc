/** Tools, tasks and approvals over HTTP, and clients that see only their own. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Approval } from '../../../src/storage/approvals/approval.ts';
import { eventsOf } from './event-reader.ts';
import { serve, type Ask, type Served } from './served.ts';

let served: Served;
let ada: Ask;
let bob: Ask;
let admin: Ask;
beforeAll(async () => {
  served = await serve();
  admin = await served.clientOf('root', { role: 'admin' });
  ada = await served.clientOf('ada');
  bob = await served.clientOf('bob');
});
afterAll(() => served[Symbol.asyncDispose]());

interface SeenTask {
  readonly id: string;
  readonly status: string;
  readonly approval: Approval;
}

const TASK = {
  taskObjective: 'Add one and two',
  approvedCode: 'results = {"sum": 1 + 2}',
  expectedResults: { sum: 'int' },
};

test('tools are defined in the form of each provider', async () => {
  const own = (await ada('GET', '/v1/tools')).body as { tools: { name: string }[] };
  const names = own.tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['run_python_code', 'manage_interpreters', 'code_interpreter']));
  expect((await ada('GET', '/v1/tools?format=openai')).body).toMatchObject({
    tools: [{ type: 'function' }, {}, {}, {}],
  });
  expect((await ada('GET', '/v1/tools?format=anthropic')).body).toMatchObject({
    tools: [{ input_schema: {} }, {}, {}, {}],
  });
  expect((await ada('GET', '/v1/tools?format=mcp')).body).toMatchObject({ tools: [{ inputSchema: {} }, {}, {}, {}] });
  expect((await ada('GET', '/v1/tools?format=smoke')).status).toBe(400);
});

test('a tool is called, and each conversation has its own interpreter', async () => {
  const call = (ask: Ask, code: string, chatId: string) =>
    ask('POST', '/v1/tools/run_python_code', { body: { arguments: { code }, context: { chatId } } });
  await call(ada, 'x = 41', 'one');
  expect(await call(ada, 'x + 1', 'one')).toMatchObject({ status: 200, body: { text: '42', isError: false } });
  expect((await call(ada, 'x', 'two')).body).toMatchObject({ isError: true });
  expect((await call(bob, 'x', 'one')).body).toMatchObject({ isError: true });
  const wrong = await ada('POST', '/v1/tools/run_python_code', { body: { arguments: { source: '1' } } });
  expect(wrong).toMatchObject({ status: 200, body: { isError: true } });
  const foreign = { arguments: { code: '1' }, context: { clientId: 'somebody' } };
  expect((await ada('POST', '/v1/tools/run_python_code', { body: foreign })).body).toMatchObject({ isError: true });
  expect(await ada('POST', '/v1/tools/none', { body: { arguments: {} } })).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND' },
  });
});

test('a task waits for an approval, goes on with a decision, and others see none of it', async () => {
  const { status, body } = await ada('POST', '/v1/tasks', { body: TASK });
  const { id, approval, ...task } = body as SeenTask;
  expect([status, task.status]).toEqual([200, 'awaiting-approval']);
  expect(approval).toMatchObject({ status: 'pending', code: TASK.approvedCode });
  expect((await ada('GET', '/v1/approvals?status=pending')).body).toMatchObject({ approvals: [{ id: approval.id }] });
  expect((await ada('GET', `/v1/approvals/${approval.id}`)).body).toMatchObject({ id: approval.id });

  expect((await bob('GET', '/v1/approvals')).body).toEqual({ approvals: [] });
  expect((await bob('GET', `/v1/approvals/${approval.id}`)).status).toBe(404);
  expect((await bob('GET', `/v1/tasks/${id}`)).status).toBe(404);
  expect((await bob('GET', `/v1/tasks/${id}/events`)).status).toBe(404);
  const decision = `/v1/approvals/${approval.id}/decision`;
  expect((await bob('POST', decision, { body: { type: 'approve' } })).status).toBe(404);

  const wrong = await ada('POST', decision, { body: { type: 'approve', code: 'other()' } });
  expect(wrong).toMatchObject({ status: 400, body: { code: 'CONFIG_INVALID' } });
  const done = await ada('POST', decision, { body: { type: 'approve' } });
  expect(done).toMatchObject({
    status: 200,
    body: { id, status: 'completed', result: { executionResult: { results: { sum: 3 } } } },
  });
  expect((await ada('GET', `/v1/approvals/${approval.id}`)).body).toMatchObject({ decision: { by: 'ada' } });
  const again = await ada('POST', decision, { body: { type: 'approve' } });
  expect(again).toMatchObject({ status: 409, body: { code: 'APPROVAL_DECIDED' } });
  expect((await ada('GET', `/v1/tasks/${id}`)).body).toMatchObject({ status: 'completed' });
});

test('a task in the background is followed, rejected by an admin, and ends as failed', async () => {
  const begun = await ada('POST', '/v1/tasks', { body: { ...TASK, background: true } });
  const { id } = begun.body as SeenTask;
  expect([begun.status, begun.body]).toEqual([202, { id, status: 'running' }]);
  const stages = await ada('GET', `/v1/tasks/${id}/events`);
  expect(stages.body).toMatch(/^id: 1\nevent: status\n/);
  expect(stages.body).toMatch(/event: settled\ndata: .*"awaiting-approval"/);
  const { approval } = (await ada('GET', `/v1/tasks/${id}`)).body as SeenTask;
  const rejection = { type: 'reject', reason: 'not today' };
  const rejected = await admin('POST', `/v1/approvals/${approval.id}/decision`, { body: rejection });
  expect(rejected).toMatchObject({
    status: 200,
    body: { id, status: 'failed', failure: { type: 'ExecutionRejectedError' } },
  });
  expect((await ada('GET', `/v1/tasks/${id}`)).body).toMatchObject({ status: 'failed' });
});

test('a task streams its stages', async () => {
  const { secret } = await served.clientOf('cy');
  const answer = await fetch(`${served.url}/v1/tasks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify(TASK),
  });
  const events = await Array.fromAsync(eventsOf(answer));
  expect(events.map(({ type }) => type)).toEqual([...events.slice(1).map(() => 'status'), 'settled']);
  expect(events.at(-1)?.data).toMatchObject({ task: { status: 'awaiting-approval' } });
});

test('what a client may know of the host, and the numbers that are for admins', async () => {
  expect((await ada('GET', '/v1/host')).body).toMatchObject({
    version: '0.1.0',
    limits: { timeoutMs: 60_000 },
    access: { mounts: [], network: false, packages: 'none', env: {} },
    isolation: {},
    ceiling: { mounts: [], network: false, packages: 'none' },
  });
  expect((await admin('GET', '/v1/host')).body).toMatchObject({ ceiling: null });
  expect(await ada('GET', '/metrics')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  expect((await admin('GET', '/metrics')).body).toMatch(/^vivarium_sessions \d+$/m);
  expect((await served.ask('GET', '/metrics')).status).toBe(401);
  for (const open of ['/health', '/openapi.json', '/docs']) expect((await served.ask('GET', open)).status).toBe(200);
  expect((await ada('GET', '/ready')).body).toEqual({ status: 'ok' });
});
