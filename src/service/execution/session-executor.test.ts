/** Jobs in real sessions: what code finds, what is read back, and what is never run twice. */
import { chmod, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { VivariumError } from '../../errors.ts';
import type { Json } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import { loadConfiguration } from '../config/load.ts';
import { WorkflowError } from '../api/failures.ts';
import { parseTypes } from '../results/actual-type.ts';
import { Executors } from './executors.ts';
import { NOTE_WORKSPACE } from '../../host/whole-value.ts';
import { fullResults } from './full-results.ts';
import type { Job } from './job.ts';
import { readOnlyNotice } from './read-only-notice.ts';
import { SessionExecutor, type SessionExecutorOptions } from './session-executor.ts';

let host: Host;
let directory: string;
beforeAll(async () => {
  host = await createHost({ preload: [] });
  directory = await mkdtemp(path.join(tmpdir(), 'executor-'));
});
afterAll(async () => {
  await host?.close();
  await rm(directory, { recursive: true, force: true });
});

function executor(more: Partial<SessionExecutorOptions> = {}): SessionExecutor {
  const options = { open: async () => host, mounts: [], memoryMb: 512, isSandboxed: true, notice: async () => '' };
  return new SessionExecutor({ ...options, ...more });
}

function job(code: string, more: Partial<Job> = {}): Job {
  return {
    code,
    mode: 'read_only',
    settings: { kernel_name: 'k', allows_writes: false, requires_approval: false, network: false, environment: {} },
    approvedKinds: [],
    context: null,
    files: [],
    expected: {},
    timeoutMs: 20_000,
    maxResultsBytes: 1 << 20,
    isPreview: false,
    ...more,
  };
}

describe('A job', () => {
  test('finds its context, its files and the variables of its mode', async () => {
    const code = 'import os\nresults = {"c": context.A.x, "f": open("in.txt").read(), "e": os.environ["GATE"]}';
    const settings = { ...job('').settings, environment: { GATE: 'open' } };
    const files = [
      {
        name: 'in.txt',
        read: async function* () {
          yield Buffer.from('hal');
          yield Buffer.from('lo');
        },
      },
    ];
    const { execution } = await executor().run(job(code, { context: { A: { x: 5 } }, settings, files }));
    expect(execution.value).toEqual({ c: 5, f: 'hallo', e: 'open' });
  });

  test('returns its outputs in order, its types and its start', async () => {
    const before = Date.now();
    const heard: string[] = [];
    const { outputs, resultTypes, startedAt, python, attempts } = await executor().run(
      job('import sys\nprint("a")\nsys.stdout.flush()\nprint("b", file=sys.stderr)\nresults = {"t": (1, 2)}', {
        expected: { t: 'tuple' },
        onEvent: ({ type }) => heard.push(type),
      }),
    );
    expect(outputs.map((item) => (item.type === 'text' ? `${item.stream} ${item.text.trim()}` : item.type))).toEqual([
      'stdout a',
      'stderr b',
    ]);
    expect(parseTypes(resultTypes)?.names['t']?.type).toBe('tuple');
    expect(new Date(startedAt).getTime()).toBeGreaterThanOrEqual(before);
    expect(python).toBe(host.environment.python);
    expect(attempts).toBeNull();
    expect(heard).toContain('output');
  });

  test('that raised is not asked for its types', async () => {
    const { execution, resultTypes } = await executor().run(job('results = {}\n1/0'));
    expect([execution.outcome.status, resultTypes]).toEqual(['raised', undefined]);
  });

  test('leaves no session behind, whether it ends well or not', async () => {
    await executor().run(job('results = {}'));
    await executor().run(job('import os; os._exit(3)'));
    await expect(executor({ notice: async () => '1/0' }).run(job('x'))).rejects.toMatchObject({ code: 'INIT_FAILED' });
    expect(await host.listSessions()).toEqual([]);
  });

  test('that was given up by its caller is cancelled', async () => {
    const stop = new AbortController();
    const { execution } = await executor().run(
      job('print("on", flush=True)\nwhile True: pass', { signal: stop.signal, onEvent: () => stop.abort() }),
    );
    expect(execution.outcome.status).toBe('cancelled');
  });

  test.for([
    ['read_only', false, VivariumError, 'session'],
    ['write_access', true, VivariumError, 'session'],
    ['write_access', false, WorkflowError, 'so it is not run again'],
  ] as const)('whose host closes while it runs, %s, preview %s, fails', async ([mode, isPreview, kind, message]) => {
    const own = await createHost({ preload: [] });
    onTestFinished(() => own.close());
    let closing: Promise<void> | undefined;
    const running = executor({ open: async () => own }).run(
      job('print("on", flush=True)\nwhile True: pass', {
        mode,
        isPreview,
        onEvent: () => void (closing ??= own.close()),
      }),
    );
    const error: unknown = await running.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toContain(message);
  });
});

describe('A session of a job', () => {
  test('has a writable mount only in the mode write_access, and never in a preview', async () => {
    const source = path.join(directory, 'data');
    await mkdir(source);
    await chmod(source, 0o777); // sessions have a user of their own
    const code =
      'try:\n    open("/lab/new", "w")\nexcept OSError as error:\n    results = {"why": error.strerror}\nelse:\n    results = {}';
    const mounts = [{ source, target: '/lab', writable: true }];
    const resultOf = async (more: Partial<Job>) => (await executor({ mounts }).run(job(code, more))).execution.value;
    const readOnly = { why: 'Read-only file system' };
    expect(await resultOf({ mode: 'write_access' })).toEqual({});
    expect(await resultOf({ mode: 'read_only' })).toEqual(readOnly);
    expect(await resultOf({ mode: 'write_access', isPreview: true })).toEqual(readOnly);
  });

  test('has the read-only notice only in the mode read_only', async () => {
    const notice = async (): Promise<string> => 'import builtins; builtins.noticed = True';
    const code = 'import builtins\nresults = {"g": hasattr(builtins, "noticed")}';
    const noticed = async (mode: Job['mode']) => (await executor({ notice }).run(job(code, { mode }))).execution.value;
    expect(await noticed('read_only')).toEqual({ g: true });
    expect(await noticed('write_access')).toEqual({ g: false });
  });

  test('reports what a preview tried, also when it tried nothing', async () => {
    const preview = async (code: string) => (await executor().run(job(code, { isPreview: true }))).attempts;
    expect(await preview('results = {}')).toMatchObject({ attempts: [], omitted: 0 });
    const tried = await preview('import subprocess\nsubprocess.run(["true"])\nresults = {}');
    expect(JSON.stringify(tried)).toContain('process');
    expect(await preview('import os; os._exit(1)')).toBeUndefined(); // its notes went with its state
  });
});

describe('The host of an executor', () => {
  test('is opened once, when it is needed, and again after a failure', async () => {
    let opened = 0;
    const lazy = executor({
      open: async () => {
        opened += 1;
        if (opened === 1) throw new Error('not yet');
        return host;
      },
    });
    expect(lazy.isOpen).toBe(false);
    await expect(lazy.host()).rejects.toThrow('not yet');
    expect(lazy.isOpen).toBe(false);
    expect(await Promise.all([lazy.host(), lazy.host()])).toEqual([host, host]);
    expect([opened, lazy.isOpen]).toEqual([2, true]);
  });

  test('need not be open to be closed', async () => {
    const unused = executor({ open: () => Promise.reject(new Error('never')) });
    await expect(unused[Symbol.asyncDispose]()).resolves.toBeUndefined();
    expect(unused.isOpen).toBe(false);
  });
});

describe('Full results', () => {
  const LIMITS = { maxBytes: 4 << 20, timeoutMs: 20_000 };
  const resultsOf = async (
    code: string,
    limits = LIMITS,
  ): Promise<{ whole: Json | undefined; cut: Json | undefined }> => {
    await using session = await host.createSession({ initCode: NOTE_WORKSPACE, echo: 'none' });
    const { value } = await session.runCode(code, { resultVariable: 'results' });
    const whole = await fullResults(session, host.artifacts, value, limits);
    expect(await host.artifacts.list({ sessionId: session.id })).toEqual([]); // the file was only for the service
    return { whole, cut: value };
  };

  test('are read from a file if they do not fit into a message, also after a change of directory', async () => {
    const { whole, cut } = await resultsOf(
      'import os\nos.mkdir("d"); os.chdir("d")\nresults = {"n": list(range(300_000))}',
    );
    expect(JSON.stringify(cut)).toContain('truncated');
    expect((whole as { n: number[] }).n).toHaveLength(300_000);
  });

  test('are the value itself if nothing is missing from it', async () => {
    const { whole, cut } = await resultsOf('results = {"n": [1]}');
    expect(whole).toBe(cut);
    expect((await resultsOf('x = 1')).whole).toBeUndefined();
  });

  test('stay cut if they are larger than allowed', async () => {
    const { whole } = await resultsOf('results = {"n": list(range(300_000))}', { ...LIMITS, maxBytes: 1 << 18 });
    expect(JSON.stringify(whole)).toContain('truncated');
  });

  test('that Python cannot write are an error', async () => {
    await expect(
      resultsOf('import sys\nresults = {"n": list(range(300_000))}\ndel sys._vivarium_workspace'),
    ).rejects.toThrow(/^All of `results` could not be read.*AttributeError/u);
  });
});

describe('Executors', () => {
  const start = async (text: string, shared: Host | null = host): Promise<Executors> => {
    const configuration = await loadConfiguration({ text: `approval: {}\n${text}`, environment: {} });
    return new Executors(configuration, {
      baseDir: directory,
      dataDir: path.join(directory, 'own'),
      settings: { preload: [] },
      shared: shared ?? undefined,
    });
  };
  const NETWORK =
    'framework: { execution: { modes: { read_only: { network: true }, write_access: { network: true } } } }';

  test('tell a generator where its code will run', async () => {
    await using executors = await start('');
    const facts = await executors.sandbox('local');
    expect(facts).toMatchObject({ timeoutSeconds: 600, pythonVersion: host.environment.version, hasNetwork: false });
    expect(facts.libraries).toEqual(Object.keys(host.environment.libraries));
    expect(await executors.sandbox('container')).toEqual({ timeoutSeconds: 600 });
    await using online = await start(NETWORK);
    expect((await online.sandbox('local')).hasNetwork).toBe(true);
    await using half = await start('framework: { execution: { modes: { read_only: { network: true } } } }');
    expect((await half.sandbox('local')).hasNetwork).toBe(false);
    const modes =
      '{ read_only: { network: { allow: [a.test, b.test] } }, write_access: { network: { allow: [b.test] } } }';
    await using listed = await start(`framework: { execution: { modes: ${modes} } }`);
    expect(await listed.sandbox('local')).toMatchObject({ hasNetwork: true, hosts: ['b.test'] });
  });

  test('have one executor for this machine, and one for each mode of a server', async () => {
    await using executors = await start('');
    expect(executors.executor('local', 'read_only')).toBe(executors.executor('local', 'write_access'));
    expect(executors.executor('container', 'read_only')).not.toBe(executors.executor('container', 'write_access'));
  });

  test('do not close a host that is not theirs, and close their own', async () => {
    await (await start(''))[Symbol.asyncDispose]();
    expect((await host.runOnce('1')).outcome.status).toBe('succeeded');
    const own = await start('', null);
    const opened = await own.local();
    await own[Symbol.asyncDispose]();
    await expect(opened.runOnce('1')).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });

  test('take the directory of an environment or its interpreter', async () => {
    const environment = path.join(directory, 'environment');
    await mkdir(path.join(environment, 'bin'), { recursive: true });
    await symlink(host.environment.python, path.join(environment, 'bin', 'python'));
    for (const given of [environment, path.join(environment, 'bin', 'python')]) {
      const text = `framework: { execution: { local: { python_env_path: ${JSON.stringify(given)} } } }`;
      const executors = await start(text, null);
      onTestFinished(() => executors[Symbol.asyncDispose]());
      expect((await executors.local()).environment.version).toBe(host.environment.version);
    }
    const missing = await start('framework: { execution: { local: { python_env_path: /no/where } } }', null);
    await expect(missing.local()).rejects.toMatchObject({ code: 'PYTHON_NOT_FOUND' });
  });

  test('open files that a run wrote by their id', async () => {
    await using executors = await start('');
    const { execution } = await executors
      .executor('local', 'read_only')
      .run(job('open("f", "w").write("x")\nresults = {}'));
    const chunks = await Array.fromAsync(await executors.openArtifact('local', execution.files[0]?.id ?? ''));
    expect(Buffer.concat(chunks).toString()).toBe('x');
  });
});

test('the notice is one statement that shows nothing, with the settings of the configuration', async () => {
  const text = 'approval: {}\ncontrol_system: { patterns: { mode: override, write: [plant.open] } }';
  const configuration = await loadConfiguration({ text, environment: {} });
  const settingsOf = async (approved: readonly ('process' | 'native-code' | 'network')[]): Promise<string> => {
    const code = await readOnlyNotice(configuration, { approved });
    expect(code).toMatch(/^if [^]*: pass$/u);
    return code.slice(code.lastIndexOf('install'));
  };
  const strict = await settingsOf([]);
  expect(strict).toContain('plant.open');
  expect(strict).not.toContain('caput');
  expect(strict.match(/processes\W+(\w+)\W+nativeCode\W+(\w+)/u)?.slice(1)).toEqual(['true', 'true']);
  const loose = await settingsOf(['process', 'native-code', 'network']);
  expect(loose.match(/processes\W+(\w+)\W+nativeCode\W+(\w+)/u)?.slice(1)).toEqual(['false', 'false']);
});
