/** Connections that break off: nothing is lost, nothing is told twice, and no code runs twice. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Host, Session } from '../../../src/index.ts';
import { connect, VivariumError } from '../../../src/index.ts';
import type { Server } from '../../../src/server/server.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import { openTestServer, startTestServer } from '../../support/remote-server.ts';

/** Prints numbered lines in several pieces, and notes that it ran. */
const COUNT = `ran.append(number)
for i in range(40):
    print(number, i, 'x' * 50, flush=i % 7 == 0)
number`;
const expected = (number: number): string =>
  Array.from({ length: 40 }, (_, i) => `${number} ${i} ${'x'.repeat(50)}\n`).join('');

let server: Server;
let direct: Host;
beforeAll(async () => {
  server = await openTestServer();
  direct = await connect(server.url);
});
afterAll(async () => {
  await direct?.close();
  await server?.close();
});

/** The same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function runWhole(session: Session, number: number): Promise<string> {
  const { logs, results } = await session.runCode(`number = ${number}\n${COUNT}`);
  expect(results[0]?.data['text/plain']).toBe(String(number));
  return logs.stdout;
}

async function collect(session: Session, number: number): Promise<string> {
  let printed = '';
  let ends = 0;
  for await (const event of session.stream(`number = ${number}\n${COUNT}`)) {
    if (event.type === 'output') printed += event.text;
    if (event.type === 'done') ends += 1;
  }
  expect(ends).toBe(1);
  return printed;
}

describe('with connections that break off at random bytes', () => {
  test('two hundred runs lose nothing, tell nothing twice and run once', async () => {
    const random = randomFrom(7);
    const between = (least: number, most: number): number => Math.floor(least + random() * (most - least));
    const proxy = await startCuttingProxy(server.url, {
      toServer: () => (random() < 0.5 ? between(1, 3000) : Infinity),
      toClient: () => between(1, 18_000),
    });
    const near = await connectPatiently(proxy.url);
    const sessions = await Promise.all(Array.from({ length: 4 }, () => direct.createSession()));
    await Promise.all(
      sessions.map(async (own, index) => {
        await own.runCode('ran = []');
        const session = await patiently(() => near.getSession(own.id));
        for (let number = 0; number < 50; number += 1) {
          const run = (number + index) % 2 === 0 ? collect : runWhole;
          expect(await run(session, number)).toBe(expected(number));
        }
        const { results } = await own.runCode('ran == list(range(50))');
        expect(results[0]?.data['text/plain']).toBe('True');
        await own.close();
      }),
    );
    expect(proxy.cuts()).toBeGreaterThan(60);
    await near.close();
  });
});

/** What is not a run is not asked for many times. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof VivariumError) || error.code !== 'HOST_UNREACHABLE') throw error;
    }
  }
}

function connectPatiently(url: string): Promise<Host> {
  return patiently(() => connect(url));
}

test('a run of which the server knows nothing any more is of unknown outcome', async () => {
  const proxy = await startCuttingProxy(server.url, { toServer: () => Infinity, toClient: () => Infinity });
  await using host = await connect(proxy.url);
  const session = await host.createSession();
  const events = session.stream("print('begun', flush=True)\nimport time\ntime.sleep(60)");
  await events.next();
  proxy.lead((await startTestServer()).url); // as if it had died and been started again
  await expect(events.next()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
});

test('a server that is stopped tells the readers of its runs how they end', async () => {
  const own = await startTestServer();
  await using host = await connect(own.url);
  const events = (await host.createSession()).stream("print('begun', flush=True)\nimport time\ntime.sleep(60)");
  await events.next();
  await own.close();
  const { value } = await events.next();
  expect(value).toMatchObject({ type: 'done', summary: { outcome: { status: 'cancelled' } } });
});
