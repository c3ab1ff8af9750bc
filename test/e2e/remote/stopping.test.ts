/** Aborting, leaving and closing end the program on the server, not only the waiting for it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Host, type Session } from '../../../src/index.ts';
import type { Server } from '../../../src/server/server.ts';
import { openTestServer } from '../../support/remote-server.ts';

const ASLEEP = "print('begun', flush=True)\nimport time\ntime.sleep(60)";

let server: Server;
let host: Host;
let session: Session;
beforeAll(async () => {
  server = await openTestServer();
  host = await connect(server.url);
  session = await host.createSession();
});
afterAll(async () => {
  await host?.close();
  await server?.close();
});

async function isIdle(): Promise<boolean> {
  return (await session.info()).status === 'idle';
}

describe('a run', () => {
  test('that is aborted ends at once as cancelled, with what it printed', async () => {
    const controller = new AbortController();
    const running = session.runCode(ASLEEP, { signal: controller.signal });
    await expect.poll(async () => (await session.info()).status).toBe('running');
    controller.abort();
    const { outcome, logs } = await running;
    expect(outcome).toEqual({ status: 'cancelled' });
    expect(['', 'begun\n']).toContain(logs.stdout);
    expect(await isIdle()).toBe(true);
  });

  test('that waits for its turn is taken out of the queue', async () => {
    const events = session.stream(ASLEEP);
    await events.next();
    const controller = new AbortController();
    const waiting = session.runCode('never = 1', { signal: controller.signal });
    await expect.poll(async () => (await session.info()).queued).toBe(1);
    controller.abort();
    expect((await waiting).outcome).toEqual({ status: 'cancelled' });
    await events.return();
    expect((await session.runCode("'never' in globals()")).results[0]?.data['text/plain']).toBe('False');
  });

  test('of a loop that is left has ended when the loop has', async () => {
    for await (const event of session.stream(ASLEEP)) if (event.type === 'output') break;
    expect(await isIdle()).toBe(true);
  });

  test('that prints without end is stopped when its reader leaves', async () => {
    for await (const event of session.stream("while True: print('x' * 10_000)")) if (event.type === 'output') break;
    expect(await isIdle()).toBe(true);
  });

  test('whose listener throws is stopped, and the error is that of the listener', async () => {
    const mine = new Error('enough');
    const onEvent = (): void => {
      throw mine;
    };
    await expect(session.runCode(ASLEEP, { onEvent })).rejects.toBe(mine);
    expect(await isIdle()).toBe(true);
  });

  test('with a listener is the same execution, and the listener gets the end', async () => {
    const types: string[] = [];
    const execution = await session.runCode("print('a')\n1 + 1", {
      onEvent: ({ type }) => void types.push(type),
      executionId: 'chosen',
    });
    expect(execution).toMatchObject({ id: 'chosen', logs: { stdout: 'a\n' } });
    expect(types).toEqual(['output', 'result', 'done']);
  });

  test('by key is aborted, too', async () => {
    const controller = new AbortController();
    const running = host.runCode(ASLEEP, {
      chatId: 'c',
      signal: controller.signal,
      onEvent: ({ type }) => (type === 'output' ? controller.abort() : undefined),
    });
    expect((await running).outcome).toEqual({ status: 'cancelled' });
  });
});

describe('closing the host', () => {
  test('cancels its runs, waits for their end and leaves the sessions', async () => {
    const other = await connect(server.url);
    const same = await other.getSession(session.id);
    await session.runCode('kept = 5');
    const running = same.runCode(ASLEEP);
    await expect.poll(async () => (await session.info()).status).toBe('running');
    await other.close();
    expect((await running).outcome).toEqual({ status: 'cancelled' });
    expect(await isIdle()).toBe(true);
    expect((await session.runCode('kept')).results[0]?.data['text/plain']).toBe('5');
    await expect(same.runCode('1')).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });

  test('cancels a run that nobody reads any more', async () => {
    const other = await connect(server.url);
    const events = (await other.getSession(session.id)).stream(ASLEEP);
    await events.next();
    await other.close();
    expect(await isIdle()).toBe(true);
  });
});

test('a session that was closed elsewhere says so, and is known to be closed then', async () => {
  const mine = await host.createSession();
  const theirs = await host.getSession(mine.id);
  await theirs.close();
  expect(mine.isClosed).toBe(false);
  await expect(mine.runCode('1')).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  expect(mine.isClosed).toBe(true);
  await mine.close();
});

test('a slow reader slows the program down', async () => {
  await using own = await host.createSession();
  const code = `
import sys
for i in range(4000):
    print('x' * 65536)
    open('count', 'w').write(str(i))`;
  const events = own.stream(code);
  await events.next();
  const count = async (): Promise<number> => {
    const chunks = await (await own.files.download('count')).toArray();
    return Number(chunks.join(''));
  };
  let last = -1;
  await expect
    .poll(
      async () => {
        const [before, now] = [last, await count()];
        last = now;
        return now === before;
      },
      { interval: 200 },
    )
    .toBe(true);
  expect(last * 65_536).toBeLessThan(40e6);
  await events.return();
});
