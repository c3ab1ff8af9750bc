/** The settings of the service: file, flags and environment. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { assertModel, configure, openRecordsOf, systemUser } from '../../src/cli/service/open.ts';
import { CommandContext } from '../support/command-context.ts';

const START = process.cwd();
let directory: string;
let context: CommandContext;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'vivarium-open-'));
  context = new CommandContext({ environment: { VIVARIUM_HOME: path.join(directory, 'data') } });
  process.chdir(directory);
});

afterEach(async () => {
  process.chdir(START);
  await rm(directory, { recursive: true, force: true });
});

async function write(name: string, text: string): Promise<string> {
  const file = path.join(directory, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

const KEYED = `
approval: {}
models:
  python_code_generator: { model_id: from-file, base_url: "https://models.example/v1", api_key: secret }
`;

describe('The configuration', () => {
  test('without a file asks about all code, and records go to the data directory', async () => {
    const setup = await configure({}, context);
    expect(setup).toMatchObject({ configFile: undefined, sameAgain: '' });
    expect([setup.dataDir, setup.baseDir]).toEqual([path.join(directory, 'data'), path.join(directory, 'data')]);
  });

  test('is config.yml of the working directory, and its paths are relative to it', async () => {
    const file = await write('config.yml', 'approval: {}\n');
    const setup = await configure({}, context);
    expect(setup).toMatchObject({ configFile: file, baseDir: directory, sameAgain: `--config ${file}` });
  });

  test('is the file that a flag names, wherever it is', async () => {
    await write('config.yml', 'not: [valid');
    const file = await write('deep/other.yml', 'approval: {}\n');
    const setup = await configure({ config: 'deep/other.yml' }, context);
    expect(setup).toMatchObject({ configFile: file, baseDir: path.dirname(file) });
  });

  test('that is invalid is refused', async () => {
    await write('config.yml', 'approval: {}\nnonsense: 1\n');
    await expect(configure({}, context)).rejects.toThrow('nonsense');
    await expect(configure({ config: 'none.yml' }, context)).rejects.toThrow('none.yml');
  });

  test('can be named again in a shell, whatever its path is', async () => {
    const file = await write("it's here/$(date).yml", 'approval: {}\n');
    const { sameAgain } = await configure({ config: file, dataDir: 'my data' }, context);
    const quoted = `'${file.replace("'", "'\\''")}'`;
    expect(sameAgain).toBe(`--config ${quoted} --data-dir '${path.join(directory, 'my data')}'`);
  });
});

describe('Flags', () => {
  test.for([
    [undefined, 600],
    [1, 0.001],
    [1500, 1.5],
    [86_400_000, 86_400],
  ] as const)('a time limit of %s ms is %s seconds', async ([timeoutMs, seconds]) => {
    const { configuration } = await configure(timeoutMs === undefined ? {} : { timeoutMs }, context);
    expect(configuration.framework.python_executor.execution_timeout_seconds).toBe(seconds);
  });

  test('choose the model and win over the file', async () => {
    await write('config.yml', KEYED);
    const { configuration } = await configure({ model: 'from-flag' }, context);
    expect(configuration.models.python_code_generator).toMatchObject({
      model_id: 'from-flag',
      base_url: 'https://models.example/v1',
      api_key: 'secret',
    });
  });

  test.for([
    ['https://models.example/v2', 'secret'],
    ['https://models.example:443/', 'secret'],
    ['https://models.example.evil/v1', undefined],
    ['http://models.example/v1', undefined],
    ['https://models.example:8443/v1', undefined],
    ['not an address', undefined],
  ] as const)('with the address %s the server gets the key %s', async ([baseUrl, key]) => {
    await write('config.yml', KEYED);
    const { configuration } = await configure({ baseUrl }, context);
    const settings = configuration.models.python_code_generator;
    expect([settings.base_url, settings.api_key]).toEqual([baseUrl, key]);
  });

  test('that no environment variable may hold are refused', async () => {
    const strange = new CommandContext({ environment: { ...context.environment, VIVARIUM_ISOLATION: 'paper' } });
    await expect(configure({}, strange)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('A model', () => {
  test('is needed if code has to be written, and may be configured anywhere', async () => {
    const missing = await configure({}, context);
    expect(() => assertModel(missing, context)).toThrow(expect.objectContaining({ code: 'LLM_NOT_CONFIGURED' }));
    const variables = { VIVARIUM_LLM_BASE_URL: 'http://localhost:1/v1', VIVARIUM_LLM_MODEL: 'm' };
    assertModel(missing, new CommandContext({ environment: variables }));
    assertModel(await configure({ baseUrl: 'http://localhost:1/v1', model: 'm' }, context), context);
  });
});

test('records are opened where the configuration says, and again from another directory', async () => {
  const file = await write('config.yml', 'approval: {}\nlanggraph: { storage_url: ./here.sqlite }\n');
  const request = { threadId: 't', requestId: 'r', attempt: 1, code: 'x', requestedBy: 'ada' };
  {
    await using storage = await openRecordsOf(await configure({}, context));
    await storage.approvals.create(request);
  }
  process.chdir(START);
  await using storage = await openRecordsOf(await configure({ config: file }, context));
  expect((await storage.approvals.list({})).map(({ code }) => code)).toEqual(['x']);
});

test('the user has a name', () => {
  expect(systemUser()).not.toBe('');
});
