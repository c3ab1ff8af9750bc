/** Which call gets which session: keys, caps, idle time, and runs that leave nothing behind. */
import { access, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Host } from '../host.ts';
import { createHost } from './local-host.ts';
import type { HostOptions } from '../options.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [], maxSessionsPerClient: 2 });
});
afterAll(() => host?.close());

async function textOf(code: string, options: Parameters<Host['runCode']>[1] = {}): Promise<string | undefined> {
  return (await host.runCode(code, options)).results[0]?.data['text/plain'];
}

test('two clients use the same name for different values', async () => {
  await host.runCode('x = "a"', { clientId: 'a' });
  await host.runCode('x = "b"', { clientId: 'b' });
  expect(await textOf('x', { clientId: 'a' })).toBe("'a'");
  expect(await textOf('x', { clientId: 'b' })).toBe("'b'");
  expect(await textOf('"x" in globals()')).toBe('False');
  const keys = (await host.listSessions()).map(({ key }) => key);
  expect(keys).toEqual(expect.arrayContaining(['client:a', 'client:b', 'default']));
});

test('calls that come at once for one key share one session', async () => {
  const options = { chatId: 'crowd' };
  const executions = await Promise.all([1, 2, 3, 4].map((n) => host.runCode(`v${n} = ${n}`, options)));
  expect(new Set(executions.map(({ sessionId }) => sessionId)).size).toBe(1);
  expect(await textOf('v1 + v2 + v3 + v4', options)).toBe('10');
});

test('20 sessions in parallel, and none sees another', async () => {
  const numbers = Array.from({ length: 20 }, (_, index) => index);
  const run = (n: number, code: string) => host.runCode(code, { sessionId: `parallel-${n}` });
  await Promise.all(numbers.map((n) => run(n, `mine = ${n}\nopen("mine", "w").write(str(mine))`)));
  const answers = await Promise.all(numbers.map((n) => run(n, '(mine, open("mine").read())')));
  expect(answers.map(({ results }) => results[0]?.data['text/plain'])).toEqual(numbers.map((n) => `(${n}, '${n}')`));
  expect(new Set(answers.map(({ sessionId }) => sessionId)).size).toBe(20);
  await Promise.all(answers.map(async ({ sessionId }) => (await host.getSession(sessionId)).close()));
});

test('an explicit id must exist, is unique, and is seen by its own client only', async () => {
  await using session = await host.createSession({ id: 'mine', clientId: 'owner' });
  await session.runCode('x = 1');
  expect(await textOf('x', { id: 'mine' })).toBe('1');
  expect(await host.getSession('mine')).toBe(session);
  await expect(host.createSession({ id: 'mine' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' });
  await expect(host.runCode('x', { id: 'mine', clientId: 'other' })).rejects.toMatchObject({
    code: 'SESSION_NOT_FOUND',
  });
  await expect(host.runCode('x', { id: 'none' })).rejects.toThrow(/"none".*createSession/);
  // @ts-expect-error - a misspelt option of a caller from JavaScript
  await expect(host.runCode('x', { sessoinId: 'a' })).rejects.toThrow(/sessoinId/);
});

test('the error at the cap of a client names the cap, the count and what to do', async () => {
  const clientId = 'greedy';
  await using first = await host.createSession({ clientId });
  const second = await host.createSession({ clientId });
  await expect(host.createSession({ clientId })).rejects.toMatchObject({
    code: 'SESSION_LIMIT',
    message: expect.stringMatching(/greedy has 2 sessions.*Close one.*60 minutes.*maxSessionsPerClient/) as unknown,
  });
  await second.close();
  await using third = await host.createSession({ clientId });
  expect(third.clientId).toBe(first.clientId);
});

test('an evicted session is reported: by id as an error, by key as a lost state', async () => {
  await using own = await small({ idleMs: 30 });
  const first = await own.runCode('x = 1', { clientId: 'c' });
  const session = await own.getSession(first.sessionId);
  while ((await own.listSessions()).length > 0) await sleep(5);
  const says = { code: 'SESSION_CLOSED', message: expect.stringContaining('evicted after 30 ms') as unknown };
  await expect(own.getSession(session.id)).rejects.toMatchObject(says);
  await expect(own.runCode('1', { id: session.id })).rejects.toMatchObject(says);
  await expect(own.runCode('1', { id: session.id, clientId: 'c' })).rejects.toMatchObject(says);
  const other = own.runCode('1', { id: session.id, clientId: 'other' });
  await expect(other).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  await expect(session.runCode('1')).rejects.toMatchObject(says);
  const [fresh, next] = await Promise.all(
    ['"x" in globals()', '1'].map((code) => own.runCode(code, { clientId: 'c' })),
  );
  expect(fresh).toMatchObject({
    results: [{ data: { 'text/plain': 'False' } }],
    state: { status: 'lost', reason: expect.stringContaining('evicted after 30 ms') as unknown },
  });
  expect(next?.state.status).toBe('preserved');
});

test('a session that runs is not idle', async () => {
  await using own = await small({ idleMs: 30 });
  const execution = await own.runCode('import time; time.sleep(0.15); 1');
  expect(execution).toMatchObject({ outcome: { status: 'succeeded' }, state: { status: 'preserved' } });
});

test('the error at the cap of all sessions comes at once; every session runs the init code of the host', async () => {
  await using own = await small({ maxSessions: 1, initCode: 'started = True' });
  expect((await own.runCode('started')).results).toMatchObject([{ data: { 'text/plain': 'True' } }]);
  await expect(own.runCode('1', { clientId: 'x' })).rejects.toMatchObject({
    code: 'SESSION_LIMIT',
    message: expect.stringMatching(/1 sessions? .*maxSessions/) as unknown,
  });
  await expect(own.runOnce('1')).rejects.toMatchObject({ code: 'SESSION_LIMIT' });
});

test('sessions that a run opens have the mounts, network, environment and limits of the host', async () => {
  await using directory = await scratch();
  await writeFile(path.join(directory.path, 'given'), 'from the machine');
  await chmod(directory.path, 0o755);
  const mounts = [{ source: directory.path, target: '/given' }];
  await using own = await small({ mounts, network: true, env: { CITY: 'Paris' }, limits: { fileMb: 3 } });
  const code = `import os, resource
(open("/given/given").read(), os.environ.get("CITY"), resource.getrlimit(resource.RLIMIT_FSIZE)[0] >> 20)`;
  const said = "('from the machine', 'Paris', 3)";
  for (const execution of [await own.runCode(code, { clientId: 'c' }), await own.runOnce(code)]) {
    expect(execution).toMatchObject({
      results: [{ data: { 'text/plain': said } }],
      isolation: { network: 'host' },
    });
  }
  expect(own.isolation.network).toBe('host');
  const other = await own.runOnce('import os; (os.path.exists("/given"), os.environ.get("CITY"))', {
    mounts: [],
    network: false,
    env: {},
  });
  expect(other).toMatchObject({
    results: [{ data: { 'text/plain': '(False, None)' } }],
    isolation: { network: 'none' },
  });
});

test('a new session waits for the slot of a closing one, not for a slot in use', async () => {
  await using own = await small({ maxSessions: 1 });
  for (const n of [1, 2, 3]) {
    const { results } = await own.runOnce(`${n}`);
    expect(results).toMatchObject([{ data: { 'text/plain': `${n}` } }]);
  }
  const first = await own.createSession({ id: 'same' });
  const closing = first.close();
  await using second = await own.createSession({ id: 'same' });
  await closing;
  expect(second.isClosed).toBe(false);
  await expect(own.runOnce('1')).rejects.toMatchObject({ code: 'SESSION_LIMIT' });
});

test('the same holds for the slots of a client', async () => {
  await using own = await small({ maxSessionsPerClient: 1 });
  for (const n of [1, 2]) {
    const { outcome } = await own.runOnce(`${n}`, { clientId: 'c' });
    expect(outcome.status).toBe('succeeded');
  }
});

test('opening a session can be aborted, its init code included, and leaves none behind', async () => {
  await using own = await small({ maxSessions: 1 });
  await expect(own.createSession({ signal: AbortSignal.abort() })).rejects.toThrow('aborted');
  const controller = new AbortController();
  const opening = own.createSession({
    initCode: 'open("begun", "w").close()\nwhile True: pass',
    signal: controller.signal,
  });
  const begun = async (): Promise<void> => {
    const [info] = await own.listSessions();
    await access(path.join(info?.workspace ?? '/none', 'begun'));
  };
  await vi.waitFor(begun, { timeout: 5000 });
  const reason = new Error('changed my mind');
  controller.abort(reason);
  await expect(opening).rejects.toBe(reason);
  await using session = await own.createSession();
  expect((await own.listSessions()).map(({ id }) => id)).toEqual([session.id]);
});

test('init code that fails is tried again, in a fresh interpreter, with the next run', async () => {
  const initCode =
    'fresh = "seen" not in globals(); seen = 1; open("tries", "a").write("x"); assert len(open("tries").read()) > 1';
  await using own = await small({ initCode });
  await expect(own.runCode('1')).rejects.toMatchObject({ code: 'INIT_FAILED' });
  expect((await own.runCode('fresh')).results).toMatchObject([{ data: { 'text/plain': 'True' } }]);
});

test('a run once leaves neither variables nor files', async () => {
  const first = await host.runOnce('x = 1\nopen("f", "w").close()\nimport os; os.getcwd()', { echo: 'last' });
  expect(first.outcome.status).toBe('succeeded');
  const second = await host.runOnce('import os; ("x" in globals(), os.listdir())', { initCode: 'y = 1' });
  expect(second.results).toMatchObject([{ data: { 'text/plain': '(False, [])' } }]);
  expect(second.sessionId).not.toBe(first.sessionId);
  await expect(host.getSession(first.sessionId)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
});

test('closing ends everything, may be called twice and at once, and later calls are refused', async () => {
  const own = await small({});
  const session = await own.createSession();
  const { workspace } = await session.info();
  await Promise.all([own.close(), own.close(), own[Symbol.asyncDispose]()]);
  await own.close();
  await expect(access(workspace)).rejects.toThrow('ENOENT');
  await expect(session.runCode('1')).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  await expect(own.runCode('1')).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  await expect(own.createSession()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
});

test('a start that fails or is aborted leaves nothing running', async () => {
  await expect(createHost({ signal: AbortSignal.abort() })).rejects.toThrow('aborted');
  await expect(createHost({ python: '/none/python' })).rejects.toMatchObject({ code: 'PYTHON_NOT_FOUND' });
  // @ts-expect-error - an unknown option of a caller from JavaScript
  await expect(createHost({ timeout: 5 })).rejects.toThrow(/timeout/);
  for (const engine of ['docker', null, {}, { jupyter: {}, local: {} }] as never[]) {
    await expect(createHost({ engine })).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: /engine/ });
  }
  // @ts-expect-error - see above
  await expect(createHost({ engine: { jupyter: {} } })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

function small(options: HostOptions): Promise<Host> {
  return createHost({ preload: [], poolSize: 0, ...options });
}

async function scratch(): Promise<AsyncDisposable & { path: string }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-host-'));
  return { path: directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}
