/** Files and artifacts over HTTP: streamed both ways, in parts, and never shown by a browser. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Artifact } from '../../../src/artifact/artifact.ts';
import type { FileList } from '../../../src/host/session.ts';
import { serve, type Served } from './served.ts';

const MIB = 1 << 20;

let served: Served;
let session: string;
beforeAll(async () => {
  served = await serve();
  session = `/v1/sessions/${((await served.ask('POST', '/v1/sessions')).body as { id: string }).id}`;
});
afterAll(() => served[Symbol.asyncDispose]());

test('a file is written, listed, read and removed', async () => {
  const where = `${session}/files/data/a%20b/größe.csv`;
  expect(await served.ask('PUT', where, { body: 'x,y\n1,2\n' })).toMatchObject({
    status: 201,
    body: { path: 'data/a b/größe.csv', sizeBytes: 8, mime: 'text/csv' },
  });
  const { files } = (await served.ask('GET', `${session}/files`)).body as FileList;
  expect(files).toMatchObject([{ path: 'data/a b/größe.csv', sizeBytes: 8 }]);
  const read = await served.ask('GET', where);
  expect([read.status, read.body]).toEqual([200, 'x,y\n1,2\n']);
  expect((await served.ask('DELETE', where)).status).toBe(204);
  expect(await served.ask('GET', where)).toMatchObject({ status: 404, body: { code: 'FILE_NOT_FOUND' } });
});

test('code sees what was uploaded, and what it writes can be downloaded', async () => {
  await served.ask('PUT', `${session}/files/in.txt`, { body: 'abc' });
  const code = 'open("out.txt", "w").write(open("in.txt").read().upper())';
  await served.ask('POST', `${session}/runs`, { body: { code } });
  expect((await served.ask('GET', `${session}/files/out.txt`)).body).toBe('ABC');
});

test('a browser downloads a file and never shows it', async () => {
  await served.ask('PUT', `${session}/files/page.html`, { body: '<script>alert(1)</script>' });
  const { headers } = await served.ask('GET', `${session}/files/page.html`);
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-disposition': "attachment; filename*=UTF-8''page.html",
    'content-security-policy': "sandbox; default-src 'none'",
    'content-type': 'text/html',
    'x-content-type-options': 'nosniff',
  });
});

test.for([
  ['bytes=2-4', 206, 'cde', 'bytes 2-4/10'],
  ['bytes=-2', 206, 'ij', 'bytes 8-9/10'],
  ['bytes=7-', 206, 'hij', 'bytes 7-9/10'],
  ['bytes=0-1,4-5', 200, 'abcdefghij', null],
] as const)('the part %s', async ([range, status, content, told]) => {
  await served.ask('PUT', `${session}/files/ten`, { body: 'abcdefghij' });
  const answer = await served.ask('GET', `${session}/files/ten`, { headers: { range } });
  expect([answer.status, answer.body, answer.headers.get('content-range')]).toEqual([status, content, told]);
});

test('a part that is not there is refused', async () => {
  await served.ask('PUT', `${session}/files/ten`, { body: 'abcdefghij' });
  const answer = await served.ask('GET', `${session}/files/ten`, { headers: { range: 'bytes=10-' } });
  expect(answer).toMatchObject({ status: 416, body: { code: 'REQUEST_INVALID' } });
});

test.for(['../../etc/passwd', '..%2f..%2fetc%2fpasswd', '%2e%2e/%2e%2e/x', '/etc/passwd', '.', 'a%00b', '%zz', 'a//b'])(
  'the path %s leads nowhere',
  async (name) => {
    const { status } = await raw('GET', `${session}/files/${name}`);
    expect([400, 404, 422]).toContain(status);
    expect([400, 404, 422]).toContain((await raw('PUT', `${session}/files/${name}`, 'x')).status);
  },
);

test('large files stream both ways, and the memory of the server stays as it was', async () => {
  const size = 256 * MIB;
  await served.ask('GET', '/health');
  const before = process.memoryUsage().rss;
  let peak = before;
  const watching = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
  const block = new Uint8Array(MIB).fill(97);
  const source = Readable.from(
    (function* () {
      for (let sent = 0; sent < size; sent += MIB) yield block;
    })(),
    { objectMode: false },
  );
  const uploaded = await raw('PUT', `${session}/files/big.bin`, source);
  expect([uploaded.status, JSON.parse(uploaded.text)]).toMatchObject([201, { sizeBytes: size }]);
  const answer = await fetch(`${served.url}${session}/files/big.bin`);
  expect(answer.headers.get('content-length')).toBe(String(size));
  let received = 0;
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) received += chunk.length;
  clearInterval(watching);
  expect(received).toBe(size);
  // Both ends are in this process. Buffering would take the size of the file at least once.
  expect(peak - before).toBeLessThan(200 * MIB);
});

test('a file over the limit of the session is refused, and an upload that breaks off leaves nothing', async () => {
  const { body } = await served.ask('POST', '/v1/sessions', { body: { limits: { fileMb: 1 } } });
  const small = `/v1/sessions/${(body as { id: string }).id}/files`;
  const large = await raw('PUT', `${small}/a`, Buffer.alloc(20 * MIB));
  expect([large.status, JSON.parse(large.text)]).toMatchObject([413, { code: 'FILE_TOO_LARGE' }]);

  const broken = request(`${served.url}${small}/half`, { method: 'PUT', headers: { 'content-length': '1000' } });
  broken.on('error', () => undefined).write('only this');
  setTimeout(() => broken.destroy(), 50);
  await new Promise((resolve) => broken.once('close', resolve));
  await expect.poll(async () => (await served.ask('GET', small)).body).toMatchObject({ files: [] });
});

test('artifacts are listed, read in parts, and removed', async () => {
  const code = 'with open("report.txt", "w") as file: print("0123456789", file=file)';
  await served.ask('POST', `${session}/runs`, { body: { code } });
  const sessionId = session.split('/').at(-1) ?? '';
  const { artifacts } = (await served.ask('GET', `/v1/artifacts?sessionId=${sessionId}`)).body as {
    artifacts: Artifact[];
  };
  const [found] = artifacts.filter(({ name }) => name === 'report.txt');
  expect((await served.ask('GET', `/v1/artifacts/${found?.id}`)).body).toMatchObject({
    name: 'report.txt',
    sizeBytes: 11,
  });
  const where = `/v1/artifacts/${found?.id}/content`;
  expect((await served.ask('GET', where)).body).toBe('0123456789\n');
  expect(await served.ask('GET', where, { headers: { range: 'bytes=3-5' } })).toMatchObject({
    status: 206,
    body: '345',
  });
  expect((await served.ask('DELETE', `/v1/artifacts/${found?.id}`)).status).toBe(204);
  expect(await served.ask('GET', where)).toMatchObject({ status: 404, body: { code: 'ARTIFACT_NOT_FOUND' } });
  expect((await served.ask('GET', '/v1/artifacts')).status).toBe(400);
});

/** As it is written: `fetch` would clean the path up. */
async function raw(method: string, where: string, body?: string | Uint8Array | Readable) {
  const { hostname, port } = new URL(served.url);
  const sending = request({ hostname, port, method, path: where });
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
  if (body instanceof Readable) body.pipe(sending);
  else sending.end(body);
  const [answer] = await answered;
  return { status: answer.statusCode ?? 0, text: await text(answer) };
}
