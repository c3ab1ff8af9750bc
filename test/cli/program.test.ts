/** The command line as it is parsed: commands, options, help. Nothing here opens a session. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { CommandContext } from '../support/command-context.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const COMMANDS = ['run', 'repl', 'agent', 'tools', 'task', 'approvals', 'doctor', 'setup', 'environments'];
const VERBS = ['list', 'show', 'audit', 'approve', 'edit', 'reject', 'respond'];

let dataDir: string;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'vivarium-program-'));
  return () => rm(dataDir, { recursive: true, force: true });
});

interface Finished {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

async function vivarium(args: readonly string[], context = contextWith({})): Promise<Finished> {
  const exitCode = await runProgram(args, context);
  return { exitCode, out: context.out.plain, err: context.err.plain };
}

/** Without a model, and with a data directory of its own. */
function contextWith(environment: NodeJS.ProcessEnv, input = ''): CommandContext {
  return new CommandContext({ environment: { HOME: dataDir, VIVARIUM_HOME: dataDir, ...environment }, input });
}

describe('Help', () => {
  test('lists every command, on standard output', async () => {
    for (const args of [['--help'], ['-h'], ['help']]) {
      const { exitCode, out, err } = await vivarium(args);
      expect([exitCode, err]).toEqual([0, '']);
      for (const command of COMMANDS) expect(out).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'));
      expect(out).toMatch(/Examples:[^]*Environment: VIVARIUM_HOME/);
    }
  });

  test('is printed on standard error if there is no command', async () => {
    const { exitCode, out, err } = await vivarium([]);
    expect([exitCode, out]).toEqual([2, '']);
    expect(err).toMatch(/^Usage: vivarium/);
  });

  test.for([
    [
      'run',
      ['--code', '--file', '--echo', '--json', '--output-dir', '--mount', '--timeout-ms', '--memory-mb', 'Exit code:'],
    ],
    ['repl', ['--echo', '--mount', '--allow-network', '%rollback', 'Examples:']],
    ['agent', ['--file', '--model', '--base-url', '--max-iterations', '--react', '--output-dir', 'Exit code:']],
    ['tools', ['--format', 'openai', 'anthropic', 'mcp', '--python']],
    [
      'task',
      ['--file', '--context', '--expect', '--code', '--folder', '--thread', '--yes', '--json', '--config', '75'],
    ],
    ['approvals', VERBS],
    ['doctor', ['--json', '--python', '--isolation', '3 if not']],
    ['setup', ['--python', 'Examples:']],
    ['environments', ['add', 'list', 'rebuild', 'remove', 'Examples:']],
  ] as const)('of %s names its options', async ([command, words]) => {
    const { exitCode, out, err } = await vivarium([command, '--help']);
    expect([exitCode, err]).toEqual([0, '']);
    for (const word of words) expect(out).toContain(word);
    expect((await vivarium(['help', command])).out).toBe(out);
  });

  test.for(VERBS)('of approvals %s names its options', async (verb) => {
    const { exitCode, out } = await vivarium(['approvals', verb, '--help']);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/--config <file>[^]*--json/);
  });

  test('of deciding commands names who decides and the exit codes; of reading commands it does not', async () => {
    for (const verb of ['approve', 'edit', 'reject', 'respond']) {
      expect((await vivarium(['approvals', verb, '-h'])).out).toMatch(/--by <name>[^]*75 waiting for approval/);
    }
    for (const verb of ['list', 'show', 'audit']) {
      expect((await vivarium(['approvals', verb, '-h'])).out).not.toContain('--by');
    }
  });

  test('of the whole knows what is declared only when it is needed', async () => {
    // `run` and `repl` are declared alone, so they must be complete without the others.
    const { out } = await vivarium(['run', '--help']);
    expect(out).toMatch(/^Usage: vivarium run \[options\] \[file\] \[args\.\.\.\]/);
  });
});

test('the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
  for (const flag of ['--version', '-V']) {
    expect(await vivarium([flag])).toEqual({ exitCode: 0, out: `${version}\n`, err: '' });
  }
});

describe('Wrong usage', () => {
  test.for([
    [['dance'], "unknown command 'dance'"],
    [['--nonsense'], "unknown option '--nonsense'"],
    ...COMMANDS.filter((name) => !['approvals', 'environments'].includes(name)).map((name) => [
      [name, '--nonsense'],
      "unknown option '--nonsense'",
    ]),
    ...VERBS.map((name) => [['approvals', name, '--nonsense'], '--nonsense']),
    [['approvals', 'dance'], "unknown command 'dance'"],
    [['environments', 'dance'], "unknown command 'dance'"],
    [['environments', 'add', 'geo', '--set', 'huge'], 'Allowed choices are core, full, none.'],
    [['environments', 'remove'], "missing required argument 'name'"],
    [['repl', 'a.py'], 'too many arguments'],
    [['doctor', 'please'], 'too many arguments'],
    [['run', '-c'], 'argument missing'],
    [['run', '--timeout-ms', '1.5', '-c', '1'], 'It must be a whole number.'],
    [['run', '--memory-mb', '-1', '-c', '1'], 'It must be a whole number.'],
    [['run', '--echo', 'loud', '-c', '1'], 'Allowed choices are all, last, none.'],
    [['repl', '--echo', ''], 'Allowed choices are all, last, none.'],
    [['run', '--isolation', 'paper', '-c', '1'], 'Allowed choices are namespaces, landlock, none.'],
    [['tools', '--format', 'xml'], 'Allowed choices are openai, anthropic, mcp.'],
    [['agent', 'q', '--max-iterations', 'many'], 'It must be a whole number.'],
    [['task'], "missing required argument 'objective'"],
    [['task', 'a', 'b'], 'too many arguments'],
    [['task', 'a', '--timeout-ms', 'soon'], 'It must be a whole number.'],
    [['approvals', 'show'], "missing required argument 'id'"],
    [['approvals', 'approve'], "missing required argument 'id'"],
    [['approvals', 'respond', 'ID'], "missing required argument 'text'"],
    [['approvals', 'list', '--status', 'lost'], 'Allowed choices are pending, approved, edited, rejected'],
  ] as [string[], string][])('%j ends with 2 and says what is wrong', async ([args, words]) => {
    const { exitCode, out, err } = await vivarium(args);
    expect([exitCode, out]).toEqual([2, '']);
    expect(err).toMatch(/^error: /);
    expect(err).toContain(words);
    expect(err).toContain('hint: add --help to see the options');
  });

  test.for([
    [['run'], 'There is nothing to run. Give a file, - or -c CODE.'],
    [['run', '/no/such.py'], 'Cannot read /no/such.py: ENOENT'],
    [['run', '/no/such.py', '--json', '-c', '1'], 'Cannot read /no/such.py: ENOENT'],
    [['run', '--file', '/no/such.csv', '-c', '1'], 'Cannot read --file /no/such.csv: ENOENT'],
    [['repl', '--file', '/no/such.csv'], 'Cannot read --file /no/such.csv: ENOENT'],
    [['run', '--mount', 'x', '-c', '1'], 'Cannot read --mount x.'],
    [['task', '  '], 'There is no task.'],
    [['task', 'a', '--code', '-', '--expect', 'mean'], 'Cannot read --expect mean. Write NAME=TYPE'],
    [['task', 'a', '--code', '-', '--expect', '=float'], 'Cannot read --expect =float.'],
    [['task', 'a', '--code', '-', '--expect', 'mean='], 'Cannot read --expect mean=.'],
    [['task', 'a', '--code', '-', '--expect', 'm=int', '--expect', 'm=float'], '--expect gives m twice.'],
    [['task', 'a', '--code', '-', '--file', '/no/such.csv'], 'Cannot read --file /no/such.csv'],
    [['task', 'a', '--code', '/no/such.py'], 'Cannot read --code /no/such.py'],
    [['task', 'a', '--code', '-', '--context', '/no/such.json'], 'Cannot read --context /no/such.json'],
    [['task', 'a', '--code', '-', '--timeout-ms', '0'], '--timeout-ms 0 is out of range. Use 1 to 86400000.'],
    [['task', 'a', '--code', '-', '--timeout-ms', '86400001'], '--timeout-ms 86400001 is out of range.'],
    [['approvals', 'list', '--config', '/no/such.yml'], '/no/such.yml'],
  ] as [string[], string][])('%j is found by the command itself, before anything starts', async ([args, words]) => {
    const { exitCode, out, err } = await vivarium(args);
    expect([exitCode, out]).toEqual([2, '']);
    expect(err).toMatch(/^error: [^]*\nhint: /);
    expect(err).toContain(words);
  });

  test.for([
    ['[]', 'is not a JSON object'],
    ['null', 'is not a JSON object'],
    ['"text"', 'is not a JSON object'],
    ['{', 'is not valid JSON'],
    ['', 'is not valid JSON'],
  ] as const)('a context of %j is refused', async ([context, words]) => {
    const file = path.join(ROOT, 'package.json');
    const { exitCode, err } = await vivarium(['task', 'a', '--code', file, '--context', '-'], contextWith({}, context));
    expect(exitCode).toBe(2);
    expect(err).toContain(`--context - ${words}`);
  });

  test('a model that is not configured is told before anything starts', async () => {
    for (const args of [
      ['agent', 'why?'],
      ['task', 'why?'],
    ]) {
      const { exitCode, err } = await vivarium(args);
      expect(exitCode).toBe(2);
      expect(err).toContain('VIVARIUM_LLM_');
    }
  });

  test('an agent without a question is wrong usage', async () => {
    const model = { VIVARIUM_LLM_BASE_URL: 'http://127.0.0.1:9/v1', VIVARIUM_LLM_MODEL: 'm' };
    const { exitCode, err } = await vivarium(['agent'], contextWith(model, ' \n'));
    expect([exitCode, err.split('\n')[0]]).toEqual([2, 'error: There is no question. Give it as an argument.']);
  });
});

describe('Records', () => {
  test('that are empty are said to be empty', async () => {
    expect(await vivarium(['approvals', 'list'])).toEqual({ exitCode: 0, out: '', err: 'no approval is pending\n' });
    expect((await vivarium(['approvals', 'list', '--status', 'all'])).err).toBe('there are no approvals\n');
    expect(await vivarium(['approvals', 'list', '--json'])).toEqual({ exitCode: 0, out: '[]\n', err: '' });
    expect(await vivarium(['approvals', 'audit'])).toEqual({ exitCode: 0, out: '', err: '' });
  });

  test('do not have an approval that nobody asked for', async () => {
    const { exitCode, out, err } = await vivarium(['approvals', 'show', 'none']);
    expect([exitCode, out]).toEqual([4, '']);
    expect(err).toMatch(/^error: .*none[^]*\nhint: list all approvals/);
  });

  test('are in the data directory of the option, which may stand before or after the command', async () => {
    const other = path.join(dataDir, 'other');
    for (const args of [
      ['--data-dir', other, 'approvals', 'list', '--json'],
      ['approvals', 'list', '--json', '--data-dir', other],
    ]) {
      expect(await vivarium(args)).toEqual({ exitCode: 0, out: '[]\n', err: '' });
    }
  });
});

test('a command that a signal ended has the exit code of the signal', async () => {
  const context = contextWith({});
  context.lifetime.receive('SIGTERM');
  expect((await vivarium(['approvals', 'list'], context)).exitCode).toBe(143);
});
