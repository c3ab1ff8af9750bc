/** The message for each way in which a configuration can be wrong. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { VivariumError } from '../../errors.ts';
import { loadConfiguration } from './load.ts';
import { ConfigurationSchema, keysOf, namesIn } from './schema.ts';

async function problemsIn(text: string, environment: Record<string, string> = {}): Promise<string[]> {
  const error: unknown = await loadConfiguration({ text, environment }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(VivariumError);
  const lines = (error as Error).message.split('\n');
  expect(lines[0]).toBe('The configuration config.yml is not valid:');
  expect(lines.at(-1)).toBe('Correct the file. docs/service-config.md lists every key.');
  return lines.slice(1, -1).map((line) => line.trim());
}

/** A file with one value at a full key. */
function fileWith(key: string, value: unknown): string {
  const nested = key.split('.').reduceRight<unknown>((inner, step) => ({ [step]: inner }), value);
  return JSON.stringify({ approval: {}, ...(nested as object) });
}

const EXECUTION = 'framework.execution';

describe('a value outside its bounds is refused under its full name', () => {
  test.for<[string, unknown]>([
    ['framework.python_executor.max_generation_retries', -1],
    ['framework.python_executor.max_generation_retries', 21],
    ['framework.python_executor.max_execution_retries', 1.5],
    ['framework.python_executor.execution_timeout_seconds', 0],
    ['framework.python_executor.execution_timeout_seconds', 86_401],
    ['framework.python_executor.max_results_mb', 0],
    ['framework.python_executor.max_results_mb', 257],
    [`${EXECUTION}.container.jupyter_port`, 0],
    [`${EXECUTION}.container.jupyter_port`, 65_536],
    [`${EXECUTION}.container.jupyter_host`, ''],
    [`${EXECUTION}.container.jupyter_scheme`, 'ftp'],
    [`${EXECUTION}.container.write_access.jupyter_port`, -5],
    [`${EXECUTION}.local.memory_mb`, 15],
    [`${EXECUTION}.local.python_env_path`, ''],
    [`${EXECUTION}.local.mounts.0.target`, 5],
    [`${EXECUTION}.code_generator`, ''],
    [`${EXECUTION}.modes.read_only.network`, 'no'],
    [`${EXECUTION}.modes.read_only.network`, { alow: ['api.example.com'] }],
    [`${EXECUTION}.modes.write_access.environment.A`, 5],
    ['execution_control.limits.graph_recursion_limit', 0],
    ['control_system.patterns.mode', 'add'],
    ['models.python_code_generator.temperature', 2.1],
    ['models.python_code_generator.max_tokens', 0],
    ['models.python_code_generator.base_url', 'not a url'],
    ['file_paths.agent_data_dir', ''],
    ['langgraph.storage_url', 5],
  ])('%s: %j', async ([key, value]) => {
    const isMount = key.includes('.mounts.');
    const text = isMount
      ? fileWith(`${EXECUTION}.local.mounts`, [{ source: '/a', target: value }])
      : fileWith(key, value);
    const problems = await problemsIn(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^line 1: ${key.replaceAll('.', String.raw`\.`)}: \\S`, 'u'));
  });

  test.for<[string, unknown]>([
    ['framework.python_executor.max_generation_retries', 20],
    ['framework.python_executor.execution_timeout_seconds', 86_400],
    ['framework.python_executor.max_results_mb', 256],
    [`${EXECUTION}.container.jupyter_port`, 65_535],
    [`${EXECUTION}.local.memory_mb`, 16],
    ['models.python_code_generator.temperature', 0],
  ])('%s: %j is the last value that fits', async ([key, value]) => {
    await expect(loadConfiguration({ text: fileWith(key, value), environment: {} })).resolves.toBeDefined();
  });
});

describe('patterns of a control system', () => {
  const write = (pattern: string): string => fileWith('control_system.patterns.write', [pattern]);

  test.for(['caput', 'epics.caput', 'epics.PV().put', '.set_value', 'epics.PV().value=', 'tango.DeviceProxy().*='])(
    '%s is one',
    async (pattern) => {
      const { control_system } = await loadConfiguration({ text: write(pattern), environment: {} });
      expect(control_system.patterns.write).toEqual([pattern]);
    },
  );

  test.for(['', 'a b', 'epics.', '..x', 'epics.caput()', 'x()', 'a-b', '*.put', 'epics.PV().put==', 'x'.repeat(121)])(
    '%j is not',
    async (pattern) => {
      expect((await problemsIn(write(pattern)))[0]).toMatch(/^line 1: control_system\.patterns\.write\.0: /u);
    },
  );

  test('there are at most 500', async () => {
    const many = fileWith('control_system.patterns.read', Array(501).fill('x'));
    expect(await problemsIn(many)).toEqual([expect.stringMatching(/control_system\.patterns\.read: Too big/u)]);
  });
});

describe('an unknown key', () => {
  test.for([
    ['approval.globalmode', 'approval.global_mode'],
    ['framework.python_executor.max_retries', undefined],
    ['framework.python_executor.MAX_RESULTS_MB', 'framework.python_executor.max_results_mb'],
    ['control_sytem', 'control_system'],
    ['jupyter_prt', 'framework.execution.container.jupyter_port'],
    ['q', undefined],
  ] as const)('%s: meant was %s', async ([key, meant]) => {
    const [problem] = await problemsIn(fileWith(key, 1));
    expect(problem).toBe(`line 1: ${key}: unknown key${meant === undefined ? '' : `; did you mean ${meant}?`}`);
  });

  test('that is longer than any key is not taken for one', async () => {
    const [problem] = await problemsIn(fileWith('x'.repeat(5000), 1));
    expect(problem?.endsWith('x: unknown key')).toBe(true);
  });

  test('a key of the same section is preferred to one that is spelt the same elsewhere', async () => {
    const [problem] = await problemsIn(fileWith('framework.execution.container.write_access.jupyter_hosts', 'x'));
    expect(problem).toContain('did you mean framework.execution.container.write_access.jupyter_host?');
  });

  test('all unknown keys of a file are told at once', async () => {
    expect(await problemsIn('approval: { a: 1 }\nb: 2\nframework: { c: 3 }')).toEqual([
      'line 3: framework.c: unknown key',
      'line 1: approval.a: unknown key',
      'line 2: b: unknown key',
    ]);
  });
});

describe('values from the environment', () => {
  const text = `approval: {}
framework:
  python_executor: { execution_timeout_seconds: "\${T}" }
  execution: { modes: { read_only: { network: "\${N}" } } }`;

  test.for([
    ['12', 'true', 12, true],
    [' 2.5 ', 'false', 2.5, false],
  ] as const)('%j and %j become a number and a boolean', async ([T, N, seconds, network]) => {
    const { framework } = await loadConfiguration({ text, environment: { T, N } });
    expect(framework.python_executor.execution_timeout_seconds).toBe(seconds);
    expect(framework.execution.modes.read_only.network).toBe(network);
  });

  test('text that is neither is refused, and so is text that was written in the file', async () => {
    expect(await problemsIn(text, { T: '1e3', N: 'yes' })).toEqual([
      expect.stringMatching(/^line 3: framework\.python_executor\.execution_timeout_seconds: /u),
      expect.stringMatching(/^line 4: framework\.execution\.modes\.read_only\.network: /u),
    ]);
    const written = 'approval: {}\nframework: { python_executor: { max_results_mb: "12" } }';
    expect(await problemsIn(written)).toEqual([expect.stringContaining('max_results_mb')]);
  });

  test('a converted number is still held to its bounds', async () => {
    expect(await problemsIn(text, { T: '-1', N: 'true' })).toEqual([
      expect.stringMatching(/^line 3: framework\.python_executor\.execution_timeout_seconds: /u),
    ]);
  });
});

test('a file beyond a megabyte is refused before it is parsed', async () => {
  const tooLong = `approval: {}\n# ${'x'.repeat(1 << 20)}`;
  expect(await problemsIn(tooLong)).toEqual(['it is longer than 1048576 characters']);
});

test('a file on disk is named without its directory, and a directory cannot be read', async () => {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'problems-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = path.join(directory, 'mine.yml');
  await writeFile(file, 'approval: []');
  await expect(loadConfiguration({ path: file, environment: {} })).rejects.toThrow('The configuration mine.yml is not');
  await expect(loadConfiguration({ path: directory, environment: {} })).rejects.toThrow(
    `The configuration ${directory} cannot be read. Check the path and its permissions.`,
  );
});

test('every key has a description, and sections are among the names', () => {
  const keys = keysOf(ConfigurationSchema);
  expect(keys.filter(({ description }) => description === '')).toEqual([]);
  const names = namesIn(keys);
  expect(names).toEqual(expect.arrayContaining(['approval', 'approval.capabilities', 'approval.global_mode']));
  expect(new Set(names).size).toBe(names.length);
});
