/** The size of a workspace is limited in runs of any length, and a session above the limit can get below it again. */
import { appendFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, type Host } from '../../src/index.ts';

let host: Host;
beforeAll(async () => {
  host = await createHost({
    preload: [],
    poolSize: 1,
    limits: { workspaceMb: 4, fileMb: 400, rollbackMb: 0 },
  });
});
afterAll(() => host.close());

const TOO_LARGE = /^the workspace holds \d+ MB, which is more than the 4 MB that it may hold$/;

test('quick runs that fill the workspace fail from the one on that does, and say why', async () => {
  await using session = await host.createSession();
  const ends: string[] = [];
  for (let run = 0; run < 4; run += 1) {
    const { outcome } = await session.runCode(`x = ${run}; open("file-${run}", "wb").write(bytes(2_100_000));`);
    ends.push(outcome.status === 'crashed' ? outcome.reason : outcome.status);
  }
  expect(ends[0]).toBe('succeeded');
  for (const end of ends.slice(1)) expect(end).toMatch(TOO_LARGE);
});

test('a run that does not make it larger says that it is too large, and else ends as it ends', async () => {
  await using session = await host.createSession();
  await session.runCode('open("file", "wb").write(bytes(9_000_000))');
  const next = await session.runCode('x = 1');
  expect(next).toMatchObject({ outcome: { status: 'succeeded' }, state: { status: 'preserved' } });
  expect(next.state.reason).toMatch(TOO_LARGE);
});

test('a run is not blamed for blocks that the kernel adds when it writes files of earlier runs out', async () => {
  await using session = await host.createSession();
  await session.runCode(`import os
file = os.open("scattered", os.O_RDWR | os.O_CREAT)
for number in range(2304): os.pwrite(file, b"x" * 4096, number * 8192)`);
  const next = await session.runCode('file = os.open("scattered", os.O_RDWR); os.fsync(file); os.close(file); x = 1');
  expect(next).toMatchObject({ outcome: { status: 'succeeded' }, state: { status: 'preserved' } });
  expect(next.state.reason).toMatch(TOO_LARGE);
});

test('a long run can tidy up, and then all is well', async () => {
  await using session = await host.createSession();
  await session.runCode('open("file", "wb").write(bytes(9_000_000))');
  await new Promise((resolve) => setTimeout(resolve, 400)); // until the watch has measured it
  const tidied = await session.runCode('import os, time; time.sleep(0.5); os.remove("file"); x = 41');
  expect(tidied).toMatchObject({ outcome: { status: 'succeeded' }, state: { status: 'preserved' } });
  expect(tidied.state).not.toHaveProperty('reason');
  expect((await session.runCode('x + 1')).results[0]?.data['text/plain']).toBe('42');
});

test('a long run that makes it larger still is ended', async () => {
  await using session = await host.createSession();
  await session.runCode('open("file", "wb").write(bytes(9_000_000))');
  await new Promise((resolve) => setTimeout(resolve, 400));
  const { outcome } = await session.runCode('import time; open("more", "wb").write(bytes(9_000_000)); time.sleep(5)');
  expect(outcome).toMatchObject({ status: 'crashed', reason: expect.stringMatching(/more than the 4 MB/) as unknown });
});

test('holes in files take no room', async () => {
  await using session = await host.createSession();
  const { outcome } = await session.runCode('open("sparse", "wb").truncate(100_000_000);');
  expect(outcome.status).toBe('succeeded');
});

test('far above the limit no code runs until files are removed from outside', async () => {
  await using session = await host.createSession();
  await session.runCode('import os');
  const large = path.join(session.files.location, 'large');
  for (let part = 0; part < 10; part += 1) appendFileSync(large, Buffer.alloc(30 << 20)); // as many quick runs could
  const filled = await session.runCode('x = 1');
  expect(filled.outcome.status).toBe('crashed');
  await expect(session.runCode('1')).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' });
  rmSync(large);
  const isKept = filled.state.status === 'preserved'; // unless it took so long that it was ended
  const answer = await session.runCode('"x" in globals()');
  expect(answer.outcome).toEqual({ status: 'succeeded' });
  expect(answer.results[0]?.data['text/plain']).toBe(isKept ? 'True' : 'False');
});
