/** Files go in and out as fast as both sides can, and never as a whole through the memory. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, type Host } from '../../../src/index.ts';
import type { Server } from '../../../src/server/server.ts';
import { openTestServer } from '../../support/remote-server.ts';

const MEBIBYTE = 1 << 20;
const SIZE_MB = 256;

let server: Server;
let host: Host;
beforeAll(async () => {
  server = await openTestServer({ settings: { limits: { fileMb: 512, workspaceMb: 1024 } } });
  host = await connect(server.url);
});
afterAll(async () => {
  await host?.close();
  await server?.close();
});

/** The most memory that was in use during some work, beyond that before it. */
async function growthMb(work: () => Promise<void>): Promise<number> {
  const used = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / MEBIBYTE;
  };
  const before = used();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, used())), 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return most - before;
}

async function* chunks(count: number): AsyncGenerator<Uint8Array, void, undefined> {
  const chunk = Buffer.alloc(MEBIBYTE, 'vivarium');
  for (let sent = 0; sent < count; sent += 1) yield chunk;
}

test('hundreds of megabytes go in and out with little memory', async () => {
  await using session = await host.createSession();
  const hash = createHash('sha256');
  const up = await growthMb(async () => {
    const { sizeBytes } = await session.files.upload('large.bin', chunks(SIZE_MB));
    expect(sizeBytes).toBe(SIZE_MB * MEBIBYTE);
  });
  const down = await growthMb(async () => {
    for await (const chunk of await session.files.download('large.bin')) hash.update(chunk as Uint8Array);
  });
  const expected = createHash('sha256');
  for await (const chunk of chunks(SIZE_MB)) expected.update(chunk);
  expect(hash.digest('hex')).toBe(expected.digest('hex'));
  expect(up).toBeLessThan(100); // client and server together
  expect(down).toBeLessThan(100);
});

test('a download waits for its reader', async () => {
  await using session = await host.createSession();
  await session.files.upload('a', chunks(64));
  const stream = await session.files.download('a');
  const first = (await stream.iterator({ destroyOnReturn: false }).next()) as IteratorResult<Uint8Array, undefined>;
  expect(first.value?.length).toBeLessThan(2 * MEBIBYTE);
  expect(stream.readableLength).toBeLessThan(2 * MEBIBYTE);
  stream.destroy();
  await expect.poll(async () => (await session.info()).status).toBe('idle');
});

test('an upload that the server does not want is ended with its reason', async () => {
  await using session = await host.createSession({ limits: { fileMb: 1 } });
  let given = 0;
  let isClosed = false;
  async function* endless(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        for await (const chunk of chunks(1)) yield chunk;
        given += 1;
      }
    } finally {
      isClosed = true;
    }
  }
  await expect(session.files.upload('a', endless())).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' });
  expect(given).toBeLessThan(200);
  await expect.poll(() => isClosed).toBe(true);
  expect((await session.files.list()).files).toEqual([]);
});

test('an upload whose source fails or that is aborted leaves nothing', async () => {
  await using session = await host.createSession();
  const mine = new Error('the disk is gone');
  async function* failing(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* chunks(3);
    throw mine;
  }
  await expect(session.files.upload('a', failing())).rejects.toBe(mine);
  const controller = new AbortController();
  async function* aborting(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* chunks(3);
    controller.abort();
    yield* chunks(3);
  }
  const uploading = session.files.upload('b', aborting(), { signal: controller.signal });
  await expect(uploading).rejects.toMatchObject({ name: 'AbortError' });
  await expect.poll(async () => (await session.files.list()).files).toEqual([]);
});

test('a download that is aborted fails with the reason', async () => {
  await using session = await host.createSession();
  await session.files.upload('a', chunks(32));
  const controller = new AbortController();
  const stream = await session.files.download('a', { signal: controller.signal });
  const reading = stream.toArray();
  controller.abort();
  await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
});
