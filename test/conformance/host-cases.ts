/** What every host must do. */
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { Host } from '../../src/index.ts';
import { CAPS, evaluate, LIMITS, messageOf, NOT_FOUND, sha256, whileRunning, type Context } from './context.ts';

export function testArtifacts({ host, open }: Context): void {
  test('files of runs outlive their session, until they are removed', async () => {
    const session = await open({ id: 'producer' });
    const { id: executionId, files } = await session.runCode("open('out.txt', 'w').write('content')");
    await session.close();
    const { artifacts } = host();
    const id = files[0]?.id ?? '';
    const sessionId = 'producer';
    const facts = { name: 'out.txt', sizeBytes: 7, mime: 'text/plain', sha256: sha256('content') };
    const artifact = await artifacts.get(id);
    expect(artifact).toMatchObject({ id, ...facts, sessionId, executionId, clientId: null });
    expect(artifact.createdAt).toBeInstanceOf(Date);
    expect(await artifacts.list({ sessionId })).toEqual([artifact]);
    expect(String(await buffer(await artifacts.open(id)))).toBe('content');
    await artifacts.remove(id);
    expect(await artifacts.list({ sessionId })).toEqual([]);
    for (const look of [artifacts.get(id), artifacts.open(id), artifacts.remove(id)]) {
      await expect(look).rejects.toMatchObject({ code: 'ARTIFACT_NOT_FOUND' });
    }
  });

  test('a figure is an artifact', async () => {
    await using session = await open();
    const code = 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()';
    const { figures } = await session.runCode(code);
    expect(figures).toMatchObject([{ mime: 'image/png' }]);
    const bytes = await buffer(await host().artifacts.open(figures[0]?.id ?? ''));
    expect(bytes.subarray(1, 4).toString()).toBe('PNG');
  });

  test('a table is exported whole, and changes nothing', async () => {
    await using session = await open();
    await session.runCode("import pandas as pd\ntable = pd.DataFrame({'n': range(1000)})");
    const { id, name } = await session.exportTable('table');
    expect(name).toBe('table.csv');
    const rows = String(await buffer(await host().artifacts.open(id)))
      .trimEnd()
      .split('\n');
    expect(rows).toHaveLength(1001);
    expect((await session.files.list()).files).toEqual([]);
    await expect(session.exportTable('missing')).rejects.toMatchObject({ code: 'TABLE_UNAVAILABLE' });
  });
}

export function testKeys({ host, open }: Context): void {
  const textOf = async (code: string, options: Parameters<Host['runCode']>[1]): Promise<string | undefined> =>
    (await host().runCode(code, options)).results[0]?.data['text/plain'];

  test('a chat has one session, and two clients with the same chat id have two', async () => {
    const [mine, theirs] = ['me', 'them'].map((clientId) => ({ clientId, chatId: 'same' }));
    const runs = await Promise.all([1, 2].map((n) => host().runCode(`x = ${n}`, { ...mine })));
    expect(new Set(runs.map(({ sessionId }) => sessionId)).size).toBe(1);
    expect(await textOf("'x' in globals()", { ...theirs })).toBe('False');
    expect(await textOf('x', { ...mine })).toBe('2');
    for (const { id } of await host().listSessions({ clientId: 'me' })) await (await host().getSession(id)).close();
    for (const { id } of await host().listSessions({ clientId: 'them' })) await (await host().getSession(id)).close();
  });

  test('an id is unique, must exist, and is free again when its session is closed', async () => {
    const session = await open({ id: 'mine' });
    await session.runCode('x = 1');
    expect(await textOf('x', { id: 'mine' })).toBe('1');
    expect((await host().getSession('mine')).id).toBe('mine');
    await expect(open({ id: 'mine' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' });
    await session.close();
    await expect(host().runCode('x', { id: 'mine' })).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    await expect(host().getSession('mine')).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    await expect(host().runCode('x', { id: 'unknown' })).rejects.toMatchObject(NOT_FOUND);
    await using again = await open({ id: 'mine' });
    expect(await evaluate(again, "'x' in globals()")).toBe('False');
  });

  test('a run once leaves neither variables nor files nor a session', async () => {
    const before = await host().listSessions();
    const first = await host().runOnce("x = 1\nopen('f', 'w').write('kept')", { limits: LIMITS });
    expect(first.outcome.status).toBe('succeeded');
    const second = await host().runOnce('import os; ("x" in globals(), os.listdir())', { limits: LIMITS });
    expect(second.results).toMatchObject([{ data: { 'text/plain': '(False, [])' } }]);
    await expect(host().getSession(first.sessionId)).rejects.toMatchObject(NOT_FOUND);
    const ids = (await host().listSessions()).map(({ id }) => id);
    expect(ids).toEqual(before.map(({ id }) => id));
    expect(String(await buffer(await host().artifacts.open(first.files[0]?.id ?? '')))).toBe('kept');
  });
}

export function testClients({ host, open }: Context): void {
  const owner = { clientId: 'owner' };
  const other = { clientId: 'other' };

  test('sessions of another client do not exist: not by id, not in lists, not for runs', async () => {
    await using session = await open({ id: 'owned', ...owner });
    await using nobodys = await open({ id: 'of-nobody' });
    expect([session.clientId, nobodys.clientId]).toEqual(['owner', null]);
    expect((await host().getSession('owned', owner)).id).toBe('owned');
    expect((await host().runCode('1', { id: 'owned', ...owner })).sessionId).toBe('owned');
    expect((await host().listSessions(owner)).map(({ id }) => id)).toEqual(['owned']);
    expect(await host().listSessions(other)).toEqual([]);
    expect((await host().listSessions()).map(({ id }) => id)).toEqual(expect.arrayContaining(['owned', 'of-nobody']));
    const unknown = await messageOf(host().getSession('unknown', other));
    for (const id of ['owned', 'of-nobody']) {
      const refusal = { ...NOT_FOUND, message: unknown.replaceAll('unknown', id) };
      await expect(host().getSession(id, other)).rejects.toMatchObject(refusal);
      await expect(host().runCode('1', { id, ...other })).rejects.toMatchObject(refusal);
    }
    expect((await host().getSession('owned')).id).toBe('owned');
  });

  test('nor does another client hear how a session ended', async () => {
    await (await open({ id: 'ended', ...owner })).close();
    await expect(host().getSession('ended', owner)).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    await expect(host().getSession('ended', other)).rejects.toMatchObject(NOT_FOUND);
    await expect(host().runCode('1', { id: 'ended', ...other })).rejects.toMatchObject(NOT_FOUND);
  });

  test('artifacts belong to the client of their session: files, figures, tables and long outputs', async () => {
    await using session = await open({ id: 'artist', ...owner });
    const { files, figures, spills } = await session.runCode(
      "import matplotlib.pyplot as plt, pandas as pd\nplt.plot([1])\nplt.show()\nopen('f', 'w').write('x')\n" +
        "table = pd.DataFrame({'n': [1]})\nprint('x' * 200_000)",
    );
    const table = await session.exportTable('table');
    const ids = [files[0]?.id, figures[0]?.id, spills?.stdout?.id, table.id].map((id) => id ?? 'missing');
    const { artifacts } = host();
    const listed = await artifacts.list({ sessionId: 'artist', ...owner });
    expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    expect(new Set(listed.map(({ clientId }) => clientId))).toEqual(new Set(['owner']));
    expect(await artifacts.list({ sessionId: 'artist', ...other })).toEqual([]);
    const unknown = await messageOf(artifacts.get('unknown', other));
    for (const id of ids) {
      const refusal = { code: 'ARTIFACT_NOT_FOUND', message: unknown.replaceAll('unknown', id) };
      await expect(artifacts.get(id, other)).rejects.toMatchObject(refusal);
      await expect(artifacts.open(id, other)).rejects.toMatchObject(refusal);
      await expect(artifacts.remove(id, other)).rejects.toMatchObject(refusal);
      expect((await buffer(await artifacts.open(id, owner))).length).toBeGreaterThan(0);
      await artifacts.remove(id, owner);
    }
  });

  test('what a client runs once, or in a chat, is its own too', async () => {
    const code = "open('f', 'w').write('x')";
    const once = await host().runOnce(code, { limits: LIMITS, ...owner });
    const chat = await host().runCode(code, { chatId: 'chat', ...owner });
    for (const { files } of [once, chat]) {
      const id = files[0]?.id ?? '';
      expect((await host().artifacts.get(id, owner)).clientId).toBe('owner');
      await expect(host().artifacts.open(id, other)).rejects.toMatchObject({ code: 'ARTIFACT_NOT_FOUND' });
    }
    await expect(host().getSession(chat.sessionId, other)).rejects.toMatchObject(NOT_FOUND);
    await (await host().getSession(chat.sessionId, owner)).close();
  });

  test('a client has no more sessions than its cap', async () => {
    await using first = await open(owner);
    const second = await open(owner);
    await expect(open(owner)).rejects.toMatchObject({ code: 'SESSION_LIMIT' });
    await using unaffected = await open(other);
    await second.close();
    await using third = await open(owner);
    expect([first, unaffected, third].map(({ clientId }) => clientId)).toEqual(['owner', 'other', 'owner']);
  });

  test('a misspelt client is refused: it must not see everything', async () => {
    const misspelt = { clientID: 'other' } as object;
    const refusal = { code: 'CONFIG_INVALID' };
    await expect(host().getSession('any', misspelt)).rejects.toMatchObject(refusal);
    await expect(host().listSessions(misspelt)).rejects.toMatchObject(refusal);
    await expect(host().runCode('1', misspelt)).rejects.toMatchObject(refusal);
    await expect(host().artifacts.get('any', misspelt)).rejects.toMatchObject(refusal);
  });
}

export function testLife({ start, capabilities, host, open }: Context): void {
  test('a host describes itself', () => {
    const { environment, limits, access, isolation } = host();
    expect(environment.version).toMatch(/^3/u);
    expect(limits.timeoutMs).toBeGreaterThan(0);
    expect(access).toMatchObject({ network: false });
    expect(isolation.level).toBe(capabilities.level);
  });

  test('a session describes itself', async () => {
    await using session = await open({ id: 'described', clientId: 'c' });
    await session.runCode('1');
    const info = await session.info();
    expect(info).toMatchObject({ id: 'described', clientId: 'c', status: 'idle', executions: 1, queued: 0 });
    expect(info.key).toBe(session.key);
    expect(info.workspace).toBe(session.files.location);
    expect(info.lastUsedAt.getTime()).toBeGreaterThanOrEqual(info.createdAt.getTime());
    expect(await host().listSessions({ clientId: 'c' })).toMatchObject([{ id: 'described', executions: 1 }]);
  });

  test('a closed session refuses, and closing again is no error', async () => {
    const session = await open();
    expect(session.isClosed).toBe(false);
    await Promise.all([session.close(), session.close()]);
    await session.close();
    expect(session.isClosed).toBe(true);
    await expect(session.runCode('1')).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    await expect(session.inspect()).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    await expect(session.interrupt()).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });

  test('closing a session ends what runs in it', async () => {
    const session = await open();
    const execution = await whileRunning(session, {}, () => session.close());
    expect(execution.outcome.status).toBeOneOf(['cancelled', 'crashed']);
    expect(execution.state.status).toBe('lost');
  });

  test('opening a session can be given up', async () => {
    await expect(open({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('a closed host refuses, as do its sessions, and closing again is no error', async () => {
    await using own = await start(CAPS);
    const session = await own.host.createSession();
    await Promise.all([own.host.close(), own.host.close()]);
    const code = capabilities.ownsSessions ? 'SESSION_CLOSED' : 'ENGINE_CLOSED';
    await expect(session.runCode('1')).rejects.toMatchObject({ code });
    await expect(own.host.runCode('1')).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
    await expect(own.host.createSession()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });
}
