/** Every route of the server, tried with what belongs to another client: it is not there, and nothing changes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../../src/server/app.ts';
import type { Sandboxes } from '../../../src/server/e2b/sandbox/sandboxes.ts';
import type { Operation } from '../../../src/server/openapi/operation.ts';
import { OPERATIONS } from '../../../src/server/openapi/operations.ts';
import type { ServerParts } from '../../../src/server/parts/parts.ts';
import { serve, type Answer, type Ask, type Sent, type Served } from './served.ts';

const SECRET = 'the-value-of-the-victim';

/** Bodies that the owner could send, by operation. */
const BODIES: Readonly<Record<string, unknown>> = {
  runInSession: { code: 'print(1)' },
  setVariables: { stolen: 1 },
  setContext: { stolen: { key: { field: 1 } } },
  complete: { code: 'sec' },
  exportTable: { name: 'secret' },
  installPackages: { requirements: ['polars'] },
  uploadFile: 'replaced',
  runCommand: { argv: ['touch', 'made-by-another'] },
  writeToCommand: 'input',
  signalCommand: { signal: 'SIGKILL' },
  decideApproval: { type: 'approve' },
};

/** What operations without an id in their path are asked for, and what may come of it. */
const WITHOUT_ID: Readonly<Record<string, (attacker: Ask, has: Victim) => Promise<void>>> = {
  createSession: async (attacker, { sessions, clientId }) => {
    // Ids are given once. That an id is taken is all that can be learnt, and only by who chooses ids that can be guessed.
    const taken = await attacker('POST', '/v1/sessions', { body: { id: sessions } });
    expect(taken).toMatchObject({ status: 409, body: { code: 'SESSION_EXISTS' } });
    expect((await attacker('POST', '/v1/sessions', { body: { clientId } })).status).toBe(400);
  },
  listSessions: async (attacker, { clientId }) => {
    expect(await attacker('GET', '/v1/sessions')).toMatchObject({ status: 200, body: { sessions: [] } });
    expect((await attacker('GET', `/v1/sessions?clientId=${clientId}`)).status).toBe(400);
  },
  run: async (attacker, { sessions, clientId }) => {
    const code = 'print(secret)';
    expect((await attacker('POST', '/v1/runs', { body: { code, id: sessions } })).status).toBe(404);
    expect((await attacker('POST', '/v1/runs', { body: { code, clientId } })).status).toBe(400);
    await expectNothingFound(attacker('POST', '/v1/runs', { body: { code, sessionId: sessions } }));
    await expectNothingFound(attacker('POST', '/v1/runs', { body: { code, chatId: 'chat' } }));
  },
  runOnce: async (attacker, { clientId }) => {
    expect((await attacker('POST', '/v1/runs/once', { body: { code: '1', clientId } })).status).toBe(400);
  },
  listArtifacts: async (attacker, { sessions }) => {
    const { body } = await attacker('GET', `/v1/artifacts?sessionId=${sessions}`);
    expect(body).toEqual({ artifacts: [] });
  },
  listTools: async (attacker) => expectNothingFound(attacker('GET', '/v1/tools')),
  callTool: async (attacker, { sessions, clientId }) => {
    const { body } = await attacker('GET', '/v1/tools');
    const { tools } = body as { tools: { name: string; parameters: { properties?: object } }[] };
    expect(tools.length).toBeGreaterThan(3);
    for (const { name } of tools) {
      for (const context of [{ sessionId: sessions }, { chatId: 'chat' }, { clientId }, { clientId, chatId: 'chat' }]) {
        const args = { code: 'print(secret)', command: 'print(secret)', interpreter_id: sessions, name: 'secret' };
        await expectNothingFound(attacker('POST', `/v1/tools/${name}`, { body: { arguments: args, context } }));
      }
    }
  },
  beginTask: async () => {}, // names nothing that exists
  listApprovals: async (attacker) => {
    expect(await attacker('GET', '/v1/approvals')).toMatchObject({ status: 200, body: { approvals: [] } });
  },
  getHost: async (attacker) => expectNothingFound(attacker('GET', '/v1/host')),
  getHealth: async (attacker) => expectNothingFound(attacker('GET', '/health')),
  getReadiness: async (attacker) => expectNothingFound(attacker('GET', '/ready')),
  getMetrics: async (attacker) => expect((await attacker('GET', '/metrics')).status).toBe(403),
  getDocument: async (attacker) => expectNothingFound(attacker('GET', '/openapi.json')),
  getDocs: async (attacker) => expectNothingFound(attacker('GET', '/docs')),
};

/** The routes of E2B's control plane, with bodies that the owner could send. Those with an id are answered with 404. */
const E2B_ROUTES: Readonly<Record<string, Sent>> = {
  'POST /v2/sandboxes': { body: { templateID: 'x', timeout: 60 } },
  'POST /sandboxes': { body: { templateID: 'x', timeout: 60 } },
  'GET /v2/sandboxes': {},
  'GET /sandboxes/:id': {},
  'DELETE /sandboxes/:id': {},
  'POST /v2/sandboxes/:id/connect': { body: { timeout: 86_400 } },
  'POST /sandboxes/:id/connect': { body: { timeout: 86_400 } },
  'POST /sandboxes/:id/timeout': { body: { timeout: 0 } },
  'GET /sandboxes/:id/metrics': {},
};

/** Routes of E2B inside of a sandbox. They need the token of the sandbox; a key of the server does not count. */
const INSIDE: readonly (readonly [port: number, method: string, where: string])[] = [
  [49_999, 'POST', '/execute'],
  [49_999, 'GET', '/contexts'],
  [49_999, 'POST', '/contexts'],
  [49_999, 'DELETE', '/contexts/x'],
  [49_999, 'POST', '/contexts/x/restart'],
  [49_983, 'GET', '/files?path=own.txt'],
  [49_983, 'POST', '/files?path=own.txt'],
  [49_983, 'POST', '/filesystem.Filesystem/ListDir'],
  [49_983, 'POST', '/process.Process/Start'],
];

/** Nothing of the victim is in the answer. */
async function expectNothingFound(asking: Promise<Answer>): Promise<void> {
  const { status, body } = await asking;
  expect(status).toBeLessThan(500);
  expect(JSON.stringify(body)).not.toContain(SECRET);
}

/** What the victim has, by the part of a path that comes before its id. */
interface Victim {
  readonly clientId: string;
  readonly sessions: string;
  readonly closed: string;
  readonly runs: string;
  readonly running: string;
  readonly artifacts: string;
  readonly commands: string;
  readonly tasks: string;
  readonly approvals: string;
}

let served: Served;
let victim: Ask & { readonly id: string };
let attacker: Ask & { readonly id: string };
let has: Victim;

beforeAll(async () => {
  served = await serve();
  victim = await served.clientOf('victim');
  attacker = await served.clientOf('attacker');
  has = await furnish(victim);
});
afterAll(() => served[Symbol.asyncDispose]());

async function furnish(ask: Ask & { readonly id: string }): Promise<Victim> {
  const make = async (where: string, body: unknown): Promise<{ id: string; [key: string]: unknown }> => {
    const answer = await ask('POST', where, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body as { id: string };
  };
  const { id: sessions } = await make('/v1/sessions', {});
  const code = `secret = "${SECRET}"; open("own.txt", "w").write(secret)`;
  const ended = await make(`/v1/sessions/${sessions}/runs`, { code });
  const { id: busy } = await make('/v1/sessions', {});
  const sleeping = { code: 'import time; time.sleep(600)', background: true, timeoutMs: 60_000 };
  const running = await make(`/v1/sessions/${busy}/runs`, sleeping);
  const { id: closed } = await make('/v1/sessions', {});
  await make(`/v1/sessions/${closed}/runs`, { code });
  await ask('DELETE', `/v1/sessions/${closed}`);
  await make('/v1/runs', { code, chatId: 'chat' });
  const command = await make(`/v1/sessions/${busy}/commands`, { argv: ['cat'], background: true });
  const task = await make('/v1/tasks', { taskObjective: 'x', approvedCode: 'results = {}' });
  const [artifact] = (ended['files'] ?? []) as { id: string }[];
  return {
    clientId: ask.id,
    sessions,
    closed,
    runs: ended.id,
    running: running.id,
    artifacts: artifact?.id ?? '',
    commands: command.id,
    tasks: task.id,
    approvals: (task['approval'] as { id: string }).id,
  };
}

/** The address of an operation, with the ids of the victim. */
function addressOf({ path }: Operation, ids: Victim): string {
  const [, , kind = ''] = path.split('/');
  const id = ids[kind as keyof Victim];
  expect(id, `something of the victim for ${path}; add it to \`furnish\``).toBeTruthy();
  return path.replace('{id}', encodeURIComponent(id)).replace('{path}', 'own.txt');
}

function bodyOf(operation: Operation): Sent {
  if (operation.body === undefined) return {};
  const body = BODIES[operation.id];
  expect(body, `a body for ${operation.id}; add it to BODIES`).toBeDefined();
  return { body };
}

/** Everything of the victim that a stranger could have changed. */
async function stateOf(ask: Ask): Promise<unknown> {
  const get = async (where: string): Promise<unknown> => (await ask('GET', where)).body;
  const { sessions } = (await get('/v1/sessions')) as { sessions: { id: string; executions: number }[] };
  return {
    sessions: sessions.map(({ id, executions }) => `${id} ${executions}`).toSorted(),
    files: await get(`/v1/sessions/${has.sessions}/files`),
    content: await get(`/v1/sessions/${has.sessions}/files/own.txt`),
    variables: await get(`/v1/sessions/${has.sessions}/variables`),
    notebook: await get(`/v1/sessions/${has.sessions}/notebook`),
    run: await get(`/v1/runs/${has.runs}`),
    running: ((await get(`/v1/runs/${has.running}`)) as { status: string }).status,
    artifact: await get(`/v1/artifacts/${has.artifacts}/content`),
    task: await get(`/v1/tasks/${has.tasks}`),
    approval: await get(`/v1/approvals/${has.approvals}`),
  };
}

const withId = OPERATIONS.filter(({ path }) => path.includes('{id}'));
const withoutId = OPERATIONS.filter(({ path }) => !path.includes('{id}'));

describe('To another client', () => {
  test('what has an id is not there, in any route, and nothing changes', async () => {
    const before = await stateOf(victim);
    expect(before).toMatchObject({ running: 'running', content: SECRET, task: { status: 'awaiting-approval' } });
    for (const operation of withId) {
      const { method, id } = operation;
      const { status, body } = await attacker(method.toUpperCase(), addressOf(operation, has), bodyOf(operation));
      expect(status, `${id}: ${JSON.stringify(body)}`).toBe(404);
      expect(JSON.stringify(body)).not.toContain(SECRET);
      const unknown = { ...has, [operation.path.split('/')[2] ?? '']: '00000000-0000-4000-8000-000000000000' };
      const nowhere = await attacker(method.toUpperCase(), addressOf(operation, unknown), bodyOf(operation));
      expect(nowhere.status, `${id} without anybody's id`).toBe(404);
      expect(codeOf(body), id).toBe(codeOf(nowhere.body));
    }
    for (const id of [has.closed]) {
      expect((await victim('GET', `/v1/sessions/${id}`)).status).toBe(410);
      expect((await attacker('GET', `/v1/sessions/${id}`)).status).toBe(404);
      expect((await attacker('GET', `/v1/sessions/${id}/notebook`)).status).toBe(404);
    }
    expect((await attacker('POST', `/v1/runs/${has.running}/cancel`)).status).toBe(404);
    expect(await stateOf(victim)).toEqual(before);
    const signalled = await victim('POST', `/v1/commands/${has.commands}/signal`, { body: { signal: 'SIGCONT' } });
    expect(signalled).toMatchObject({ status: 200, body: { delivered: true } });
  });

  test('what has no id in its address tells nothing, and nothing changes', async () => {
    const before = await stateOf(victim);
    expect(withoutId.map(({ id }) => id).filter((id) => WITHOUT_ID[id] === undefined)).toEqual([]);
    const ids = withoutId.map(({ id }) => id);
    for (const id of ['listSessions', ...ids])
      if (id !== 'createSession') await WITHOUT_ID[id]?.(attacker, has).catch(explain(id));
    await WITHOUT_ID['createSession']?.(attacker, has);
    expect(await stateOf(victim)).toEqual(before);
  });

  test('an answer that was kept for an Idempotency-Key is not given', async () => {
    const headers = { 'idempotency-key': 'the-same' };
    const sent = { headers, body: { code: `print("${SECRET}")` } };
    const first = await victim('POST', '/v1/runs/once', sent);
    const second = await attacker('POST', '/v1/runs/once', sent);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.headers.get('vivarium-run')).not.toBe(first.headers.get('vivarium-run'));
    expect((await attacker('POST', '/v1/runs/once', { headers, body: { code: '2' } })).status).toBe(422);
  });
});

describe('To another client, a sandbox of E2B', () => {
  test('is not there in any route of the control plane', async () => {
    const sent = { body: { templateID: 'x', timeout: 600, metadata: { of: SECRET } } };
    const { sandboxID } = (await victim('POST', '/v2/sandboxes', sent)).body as { sandboxID: string };
    const before = await victim('GET', `/sandboxes/${sandboxID}`);
    expect(before).toMatchObject({ status: 200, body: { metadata: { of: SECRET } } });
    const parts = { host: { isolation: { network: 'none' } } } as unknown as ServerParts; // routes are only declared
    const known = new Set(
      OPERATIONS.map(({ method, path }) => `${method.toUpperCase()} ${path.replace('{path}', '*')}`),
    );
    const routes = createApp(parts, {} as Sandboxes)
      .routes.filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !known.has(route.replaceAll(/:(\w+)/g, '{$1}')));
    expect(new Set(routes), 'add what is missing to E2B_ROUTES').toEqual(new Set(Object.keys(E2B_ROUTES)));
    for (const [route, request] of Object.entries(E2B_ROUTES)) {
      const [method = '', where = ''] = route.split(' ');
      const { status, body } = await attacker(method, where.replace(':id', sandboxID), request);
      expect(status === 404, `${route}: ${status}`).toBe(where.includes(':id'));
      expect(JSON.stringify(body)).not.toContain(SECRET);
    }
    const inside = { 'content-type': 'application/json', 'e2b-sandbox-id': sandboxID };
    for (const [port, method, where] of INSIDE) {
      const headers = { ...inside, 'e2b-sandbox-port': String(port) };
      const { status } = await attacker(method, where, { headers, ...(method === 'POST' && { body: '{}' }) });
      expect(status, where).toBe(401);
    }
    expect(await victim('GET', `/sandboxes/${sandboxID}`)).toEqual({
      ...before,
      headers: expect.anything() as unknown,
    });
  });
});

test('without a key, only what everybody may see is answered', async () => {
  const statuses: Record<string, number> = {};
  for (const operation of OPERATIONS) {
    const where = operation.path.includes('{id}') ? addressOf(operation, has) : operation.path.replace('{name}', 'x');
    statuses[operation.id] = (await served.ask(operation.method.toUpperCase(), where)).status;
  }
  const { getHealth, getDocs, getDocument, ...closed } = statuses;
  expect([getHealth, getDocs, getDocument]).toEqual([200, 200, 200]);
  expect(new Set(Object.values(closed))).toEqual(new Set([401]));
});

test('to its owner, all of it is there', async () => {
  const last = ['decideApproval', 'removeArtifact', 'removeFile', 'closeSession'];
  const inOrder = withId.toSorted((one, other) => last.indexOf(one.id) - last.indexOf(other.id));
  for (const operation of inOrder) {
    const streams = operation.isStream === true || operation.id === 'followRun';
    const stop = new AbortController();
    const asking = victim(operation.method.toUpperCase(), addressOf(operation, has), {
      ...bodyOf(operation),
      ...(streams && { signal: stop.signal }),
    });
    if (streams) setTimeout(() => stop.abort(), 500);
    const status = await asking.then(
      (answer) => answer.status,
      () => 200, // a stream that was left
    );
    expect([404, 401, 500], operation.id).not.toContain(status);
  }
});

function codeOf(body: unknown): unknown {
  return (body as { code?: unknown }).code;
}

function explain(id: string): (error: unknown) => never {
  return (error) => {
    throw new Error(`${id} tells of another client`, { cause: error });
  };
}
