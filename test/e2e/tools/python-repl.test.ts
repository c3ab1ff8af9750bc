/** The tool that keeps its variables, as agents of SynapseKit know it: in a sandbox, or without isolation on request. */
import { on } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createHost } from '../../../src/index.ts';
import { PythonREPLTool, UNCONFINED } from '../../../src/tools.ts';

let directory: string;
let repl: PythonREPLTool;
let warned: Promise<Error>;
beforeAll(async () => {
  warned = warning('VIVARIUM_UNCONFINED');
  repl = new PythonREPLTool({ unconfined: UNCONFINED, timeout: 30 });
  directory = await mkdtemp(path.join(os.tmpdir(), 'python-repl-'));
});
afterAll(async () => {
  await repl?.close();
  await rm(directory, { recursive: true, force: true });
});

/** The next warning of this process with this code. */
async function warning(code: string): Promise<Error> {
  for await (const [emitted] of on(process, 'warning') as AsyncIterable<[Error & { code?: string }]>) {
    if (emitted.code === code) return emitted;
  }
  throw new Error('never warned');
}

test('S-16 without arguments the tool works, in a sandbox, and its text says so', async () => {
  const secret = path.join(directory, 'secret.txt');
  await writeFile(secret, 'of the host');
  process.env['REPL_TEST_KEY'] = 'of the host';
  onTestFinished(() => void delete process.env['REPL_TEST_KEY']);
  await using own = new PythonREPLTool();
  const { description } = await own.define();
  expect(description).toMatch(/runs in a sandbox.*There is no network/);
  expect(description).not.toContain('UNCONFINED');
  expect((await own.run({ code: 'x = 41' })).output).toBe('(no output)');
  const { output, error, metadata } = await own.run({
    code: `import os\nprint(x + 1, os.path.exists(${JSON.stringify(secret)}), os.environ.get("REPL_TEST_KEY"))`,
  });
  expect({ output, error, metadata }).toEqual({ output: '42 False None\n', error: null, metadata: {} });
  await own.reset();
  expect((await own.run({ code: 'x' })).error).toContain('NameError');
});

test('S-16 the sandboxed tool takes a host and what its code can reach, and tells of a session that ended', async () => {
  await using host = await createHost({ poolSize: 0, preload: [], idleMs: 40 });
  await using own = new PythonREPLTool({ host, timeout: 30, env: { UNIT: 'EUR' } });
  expect((await own.run({ code: 'import os\nprint(os.environ["UNIT"])' })).output).toBe('EUR\n');
  await expect.poll(async () => (await host.listSessions()).length).toBe(0);
  expect((await own.run({ code: 'print("os" in globals())' })).output).toMatch(/^\[Session .* evicted .*\]\nFalse\n$/);
  await own.close();
  expect(await host.listSessions()).toEqual([]);
});

test('S-16 on a host without isolation it does not call itself a sandbox', async () => {
  await using host = await createHost({ poolSize: 0, preload: [], isolation: 'none' });
  await using own = new PythonREPLTool({ host, timeout: 30 });
  const { description } = await own.define();
  expect(description).toContain('WARNING: there is no isolation');
  expect(description).not.toContain('sandbox');
  expect((await own.call({ code: 'print(1)' })).payload).toEqual({ output: '1\n', error: null, isolation: 'none' });
});

test('S-16 U-17 running without isolation must be requested explicitly, and warns', async () => {
  // @ts-expect-error - other words
  expect(() => new PythonREPLTool({ unconfined: 'yes' })).toThrow(/pass the exact words.*sandbox/);
  expect(() => new PythonREPLTool({ unconfined: UNCONFINED, network: false })).toThrow(/Remove host, mounts, network/);
  expect((await warned).message).toContain('without isolation');
  expect((await repl.define()).description).toMatch(/UNCONFINED.*only use in trusted environments/);
  const host = path.join(directory, 'host.txt');
  await writeFile(host, 'of the host');
  expect((await repl.run({ code: `print(open(${JSON.stringify(host)}).read())` })).output).toBe('of the host\n');
});

test('S-54 the unconfined tool keeps its variables until reset', async () => {
  expect(repl.name).toBe('python_repl');
  expect(await repl.run({ code: 'x = 41' })).toMatchObject({ output: '(no output)', error: null });
  expect((await repl.run({ input: 'print(x + 1)' })).output).toBe('42\n');
  expect(await repl.run({ code: 'print("kept")\n1/0' })).toMatchObject({
    output: 'kept\n',
    error: 'ZeroDivisionError: division by zero',
  });
  await repl.reset();
  expect((await repl.run({ code: 'x' })).error).toContain('NameError');
  expect(await repl.call({ code: 'print(1)' })).toMatchObject({ text: '1', payload: { output: '1\n', error: null } });
  expect((await repl.run({})).error).toBe('No code provided.');
});

test('S-16 S-54 the unconfined tool is where the program is: its directory, its variables', async () => {
  process.env['REPL_TEST_KEY'] = 'of the host';
  onTestFinished(() => void delete process.env['REPL_TEST_KEY']);
  await using own = new PythonREPLTool({ unconfined: UNCONFINED, timeout: 30 });
  const { output, metadata } = await own.run({
    code: 'import os\nprint(os.getcwd(), os.environ["REPL_TEST_KEY"], os.environ["HOME"])',
  });
  expect(output).toBe(`${process.cwd()} of the host ${process.env['HOME']}\n`);
  expect(metadata).toEqual({ isolation: 'none' });
});

test('S-40 it has schema and anthropic_schema too', async () => {
  expect((await repl.schema()).function.name).toBe('python_repl');
  expect((await repl.anthropic_schema()).name).toBe('python_repl');
});
