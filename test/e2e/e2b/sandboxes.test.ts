/** The life of sandboxes, with E2B's own SDK for JavaScript. */
import { readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Sandbox } from '@e2b/code-interpreter';
import { Sandbox as BaseSandbox, SandboxNotFoundError, Template, TimeoutError, type SandboxOpts } from 'e2b';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startE2bServer, type E2bTestbed } from './testbed.ts';

let server: E2bTestbed;
beforeAll(async () => {
  server = await startE2bServer({ hostOptions: { limits: { workspaceMb: 20 } } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Is killed when the test ends. */
async function createSandbox(options: SandboxOpts = {}): Promise<Sandbox> {
  const sandbox = await Sandbox.create({ ...server.connection, timeoutMs: 120_000, ...options });
  onTestFinished(async () => void (await sandbox.kill()));
  return sandbox;
}

const filesOnDisk = (): string[] =>
  readdirSync(path.join(server.dataDir, 'e2b')).flatMap((name) =>
    name.startsWith('.') ? [] : readdirSync(path.join(server.dataDir, 'e2b', name)),
  );

test('a sandbox tells what it was created with', async () => {
  const sandbox = await createSandbox({ metadata: { user: 'a&b=c d' }, timeoutMs: 90_000 });
  const info = await sandbox.getInfo();
  expect(info).toMatchObject({
    sandboxId: sandbox.sandboxId,
    templateId: 'code-interpreter-v1',
    metadata: { user: 'a&b=c d' },
    state: 'running',
    allowInternetAccess: false,
    memoryMB: 1024,
  });
  expect(info.endAt.getTime() - info.startedAt.getTime()).toBeGreaterThan(89_000);
  expect(info.endAt.getTime() - info.startedAt.getTime()).toBeLessThan(100_000);
});

test('the base SDK works too, and any template is the same sandbox', async () => {
  const sandbox = await BaseSandbox.create('my-own-template', server.connection);
  expect((await sandbox.getInfo()).templateId).toBe('my-own-template');
  expect((await sandbox.commands.run('echo hi')).stdout).toBe('hi\n');
  await sandbox.kill();
});

test('sandboxes are listed in pages and found by their metadata', async () => {
  const made = [];
  for (const name of ['a', 'b', 'c']) made.push(await createSandbox({ metadata: { group: 'pages & more', name } }));
  const query = { metadata: { group: 'pages & more' } };
  const pages = Sandbox.list({ ...server.connection, query, limit: 2 });
  const first = await pages.nextItems();
  expect(first.map(({ metadata }) => metadata['name'])).toEqual(['c', 'b']);
  expect(pages.hasNext).toBe(true);
  expect((await pages.nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([made[0]?.sandboxId]);
  expect(pages.hasNext).toBe(false);
  const count = async (more: object) =>
    (await Sandbox.list({ ...server.connection, query: { ...query, ...more } }).nextItems()).length;
  expect(await count({ metadata: { ...query.metadata, name: 'b' } })).toBe(1);
  expect(await count({ metadata: { name: 'none' } })).toBe(0);
  expect(await count({ state: ['paused'] })).toBe(0);
  expect(await count({ state: ['running', 'paused'] })).toBe(3);
  expect(await count({ startedAfter: new Date(Date.now() + 1000) })).toBe(0);
  const oldest = Sandbox.list({ ...server.connection, query, order: 'asc', limit: 1 });
  expect((await oldest.nextItems())[0]?.metadata['name']).toBe('a');
  await expect(Sandbox.list({ ...server.connection, nextToken: 'mine' }).nextItems()).rejects.toThrow('nextToken');
});

test('another client connects to a sandbox, which then lives at least as long as it asks', async () => {
  const sandbox = await createSandbox({ timeoutMs: 30_000 });
  await sandbox.runCode('x = 5');
  const other = await Sandbox.connect(sandbox.sandboxId, { ...server.connection, timeoutMs: 300_000 });
  expect((await other.runCode('x')).text).toBe('5');
  const left = (await sandbox.getInfo()).endAt.getTime() - Date.now();
  expect(left).toBeGreaterThan(250_000);
  await sandbox.setTimeout(10_000);
  expect((await sandbox.getInfo()).endAt.getTime() - Date.now()).toBeLessThan(11_000);
});

test('a sandbox ends at its time, with everything in it', async () => {
  const sandbox = await createSandbox();
  const { sandboxId } = sandbox;
  const running = sandbox.runCode('import time\ntime.sleep(60)', { timeoutMs: 0 });
  const asleep = await sandbox.commands.run('sleep 60', { background: true });
  await sandbox.setTimeout(1000);
  expect((await running).error).toMatchObject({ name: expect.any(String) as string });
  await expect(asleep.wait()).rejects.toThrow('the session was closed');
  await expect.poll(() => sandbox.isRunning()).toBe(false);
  await expect(sandbox.getInfo()).rejects.toThrow(SandboxNotFoundError);
  await expect(sandbox.runCode('1')).rejects.toThrow(TimeoutError);
  await expect(sandbox.files.read('x')).rejects.toThrow(TimeoutError);
  await expect(sandbox.commands.run('id')).rejects.toThrow(SandboxNotFoundError);
  await expect(Sandbox.connect(sandboxId, server.connection)).rejects.toThrow(SandboxNotFoundError);
  await expect.poll(filesOnDisk).not.toContain(sandboxId);
});

test('a sandbox is killed once', async () => {
  const sandbox = await createSandbox();
  expect(filesOnDisk()).toContain(sandbox.sandboxId);
  expect(await sandbox.kill()).toBe(true);
  expect(filesOnDisk()).not.toContain(sandbox.sandboxId);
  expect(await sandbox.kill()).toBe(false);
  expect(await sandbox.isRunning()).toBe(false);
});

test('thirty sandboxes work at once and do not see each other', async () => {
  const answers = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const sandbox = await createSandbox();
      await sandbox.files.write('own.txt', `sandbox ${index}`);
      const { text } = await sandbox.runCode(`import os\nopen("own.txt").read(), len(os.listdir())`);
      const { stdout } = await sandbox.commands.run('cat own.txt');
      await sandbox.kill();
      return [text, stdout];
    }),
  );
  expect(answers).toEqual(answers.map((_, index) => [`('sandbox ${index}', 1)`, `sandbox ${index}`]));
});

test('files are held to the limit of a session, and removing some lets the sandbox go on', async () => {
  const sandbox = await createSandbox();
  const greedy = await sandbox.runCode(`import time
for index in range(40):
    with open(f"f{index}", "wb") as file: file.write(b"x" * (1 << 20))
time.sleep(60)`);
  expect(greedy.error).toBeDefined();
  await expect(sandbox.runCode('1')).rejects.toThrow('413');
  await expect(sandbox.commands.run('id')).rejects.toThrow('take more than the 20 MB');
  await expect(sandbox.files.write('more', 'x')).rejects.toThrow('take more than the 20 MB');
  for (const { path: each } of await sandbox.files.list('/home/user')) await sandbox.files.remove(each);
  await expect.poll(() => sandbox.runCode('1 + 1').then(({ text }) => text, String)).toBe('2');
});

test('a sandbox sees the mounts and the variables of the host', async () => {
  const data = await mkdtemp(path.join(tmpdir(), 'viv-data-'));
  onTestFinished(() => rm(data, { recursive: true }));
  await chmod(data, 0o755); // sessions of root have users of their own
  await writeFile(path.join(data, 'facts'), 'of the owner');
  await using own = await startE2bServer({
    hostOptions: { mounts: [{ source: data, target: '/data' }], env: { SITE: 'north', WHO: 'host' } },
    ceiling: { mounts: [] },
  });
  const sandbox = await Sandbox.create({ ...own.connection, envs: { WHO: 'me' } });
  const code =
    'import os\nopen("/data/facts").read(), os.access("/data", os.W_OK), os.environ["SITE"], os.environ["WHO"]';
  expect((await sandbox.runCode(code)).text).toBe("('of the owner', False, 'north', 'me')");
});

test('metrics tell the room on disk', async () => {
  const sandbox = await createSandbox();
  await sandbox.files.write('a', 'x'.repeat(1 << 20));
  const [now] = await sandbox.getMetrics();
  expect(now).toMatchObject({ diskTotal: 20 << 20, memTotal: 1024 << 20, cpuUsedPct: null, memUsed: null });
  expect(now?.diskUsed).toBeGreaterThanOrEqual(1 << 20);
});

test.each([
  ['pause', (sandbox: Sandbox) => sandbox.pause()],
  ['fork', (sandbox: Sandbox) => sandbox.fork()],
  ['snapshot', (sandbox: Sandbox) => sandbox.createSnapshot()],
  ['list of snapshots', (sandbox: Sandbox) => sandbox.listSnapshots().nextItems()],
  ['change of the network', (sandbox: Sandbox) => sandbox.updateNetwork({ allowInternetAccess: true })],
])('a %s is refused with the reason', async (_, call) => {
  await expect(call(await createSandbox())).rejects.toThrow('is not supported by Vivarium');
});

test.each([
  ['pausing', { lifecycle: { onTimeout: 'pause' } }, 'Pausing'],
  ['a volume', { volumeMounts: { '/data': 'mine' } }, 'Volumes'],
  ['rules of the network', { network: { denyOut: ['0.0.0.0/0'] } }, 'Network rules'],
  ['the internet, which the server has not', { allowInternetAccess: true }, 'have no network'],
  ['a variable without a name', { envs: { '': 'x' } }, 'envVars'],
] satisfies [string, SandboxOpts, string][])('a sandbox with %s is not created', async (_, options, reason) => {
  await expect(Sandbox.create({ ...server.connection, ...options })).rejects.toThrow(reason);
});

test('templates are not built', async () => {
  const { apiKey, apiUrl } = server.connection;
  const building = Template.build(Template().fromImage('python'), { alias: 'mine', apiKey, apiUrl } as never);
  await expect(building).rejects.toThrow('is not supported by Vivarium');
});

test('what a server that was killed has left is removed when another one starts', async () => {
  await using next = await startE2bServer({
    prepare: async (dataDir) => {
      const left = path.join(dataDir, 'e2b', '0123456789abcdef', 'some-sandbox', 'home');
      await mkdir(left, { recursive: true });
      await writeFile(path.join(left, 'file'), 'of a server that was killed');
    },
  });
  await expect.poll(() => readdirSync(path.join(next.dataDir, 'e2b'))).not.toContain('0123456789abcdef');
});

test('a server that is closed ends its sandboxes and leaves no file', async () => {
  await using own = await startE2bServer();
  const sandbox = await Sandbox.create(own.connection);
  await sandbox.files.write('a', 'x');
  const left = path.join(own.dataDir, 'e2b');
  expect(readdirSync(left)).toHaveLength(2);
  await own.close();
  expect(readdirSync(left)).toEqual(['.claim']);
  await expect(sandbox.runCode('1')).rejects.toThrow('fetch failed');
});
