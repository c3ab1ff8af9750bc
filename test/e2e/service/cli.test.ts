/** `vivarium task` and `vivarium approvals` as a shell sees them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, onTestFinished, test } from 'vitest';
import { OpenAIServer, type Reply } from '../../support/openai-server.ts';
import { Terminal } from '../../support/terminal.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const SOURCE = path.join(ROOT, 'src/cli/main.ts');
/** The bundled command line: errors must keep their names there, and it starts sooner. */
let bundle: string;
const NO_MODEL = Object.fromEntries(
  ['VIVARIUM_LLM_BASE_URL', 'VIVARIUM_LLM_API_KEY', 'VIVARIUM_LLM_MODEL', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'].map(
    (name) => [name, undefined],
  ),
);
const CONFIG = `
approval: {}
framework: { python_executor: { max_generation_retries: 0, max_execution_retries: 0 } }
langgraph: { storage_url: ./storage.sqlite }
`;

beforeAll(async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-bundle-'));
  for (const name of ['src', 'python', 'package.json', 'node_modules']) {
    await symlink(path.join(ROOT, name), path.join(directory, name));
  }
  const build = spawn(process.execPath, [path.join(ROOT, 'tools/bundle.ts')], { cwd: directory, stdio: 'inherit' });
  assert.deepEqual(await once(build, 'close'), [0, null]);
  bundle = path.join(directory, 'dist/bin/vivarium.js');
  return () => rm(directory, { recursive: true, force: true });
});

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A directory with a configuration, and the command line in it. */
class Place {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async make(config: string = CONFIG): Promise<Place> {
    const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-task-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const place = new Place(directory);
    if (config !== '') await place.write('config.yml', config);
    return place;
  }

  async write(name: string, content: string): Promise<string> {
    await writeFile(path.join(this.directory, name), content);
    return name;
  }

  async run(
    args: readonly string[],
    { env = {}, input = '', cwd = this.directory, main = bundle } = {},
  ): Promise<Finished> {
    const child = spawn(process.execPath, [main, ...args], { cwd, env: { ...process.env, ...NO_MODEL, ...env } });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdin.end(input);
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code: child.exitCode, stdout, stderr };
  }

  /** Starts a task that waits for approval, and returns the approval's id. */
  async ask(code: string, more: readonly string[] = []): Promise<string> {
    const asked = await this.run(['task', 'Try it', '--code', '-', ...more], { input: code });
    assert.equal(asked.code, 75, asked.stderr);
    return asked.stdout.trim();
  }

  terminal(args: readonly string[], env: NodeJS.ProcessEnv = {}): Terminal {
    const surroundings = { ...NO_MODEL, TERM: 'xterm', ...env };
    return new Terminal([bundle, ...args], surroundings, { cwd: this.directory });
  }
}

async function serve(replies: readonly Reply[]): Promise<OpenAIServer> {
  const server = await OpenAIServer.start(replies);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

function json(document: string): Record<string, unknown> {
  return JSON.parse(document) as Record<string, unknown>;
}

const DOWN = '\u001B[B';
const QUESTION = 'What should happen with this code?';

test('--yes: code is written for the task and its file, run and recorded, and the log says who approved', async () => {
  const place = await Place.make();
  const server = await serve([
    { text: 'print("rea" + "ding")\nresults = {"lines": len(open("table.csv").readlines())}' },
  ]);
  await place.write('table.csv', 'a\n1\n2\n');
  const args = ['task', 'Count the lines', '--file', 'table.csv', '--expect', 'lines=int', '--yes'];
  const { code, stdout, stderr } = await place.run(args, { env: server.environment });
  assert.equal(code, 0, stderr);
  const found = /^Results\n {2}lines {2}3\nNotebook {2}(?<notebook>.+)\nFolder {4}(?<folder>.+)\n$/.exec(stdout);
  assert.ok(found?.groups, stdout);
  const { notebook = '', folder = '' } = found.groups;
  assert.match(await readFile(notebook, 'utf8'), /Count the lines/);
  assert.match(folder, /_agent_data\/executed_scripts\/.*count-the-lines/);
  const stages = ['Generating', 'Analyzing', 'requires approval', 'Previewing', 'human approval', 'Executing'];
  assert.match(stderr, new RegExp(stages.join('[^]*')));
  assert.match(stderr, /^│ reading$/m);
  assert.match(stderr, /--yes: APPROVED WITHOUT A REVIEW/);
  assert.match(server.requests[0]?.messages[0]?.content ?? '', /"table\.csv" \(6 bytes\)/);
  const log = (await place.run(['approvals', 'audit', '--json'])).stdout.trim().split('\n').map(json);
  assert.deepEqual(
    log.filter(({ action }) => action === 'approved').map(({ actor }) => actor),
    ['cli --yes'],
  );
});

test('without a terminal a task waits, and is decided from another process and directory', async () => {
  const place = await Place.make();
  const { code, stdout, stderr } = await place.run(['task', 'Try it', '--code', '-'], {
    input: 'results = {"answer": 6 * 7}',
  });
  assert.equal(code, 75);
  const id = stdout.trim();
  const config = path.join(place.directory, 'config.yml');
  assert.ok(stderr.includes(`vivarium approvals approve ${id} --config ${config}`), stderr);

  const elsewhere = { cwd: tmpdir() };
  const listed = await place.run(['approvals', 'list', '--config', config], elsewhere);
  assert.match(listed.stdout, new RegExp(`^${id} {2}pending .* Try it\n$`));
  const shown = await place.run(['approvals', 'show', id, '--config', config], elsewhere);
  assert.match(shown.stdout, /Why +All code requires approval\n[^]*sha256 [0-9a-f]{64}\n│ results = /);
  assert.match(shown.stdout, /- it ran to its end\n[^]*exactly this run is kept/);

  const approved = await place.run(
    ['approvals', 'approve', id, '--config', config, '--by', 'Ada', '--json'],
    elsewhere,
  );
  assert.equal(approved.code, 0, approved.stderr);
  assert.deepEqual(json(approved.stdout)['results'], { answer: 42 });
  assert.match(String(json(approved.stdout)['notebook_path']), /notebook\.ipynb$/);
  const again = await place.run(['approvals', 'approve', id]);
  assert.equal(again.code, 4);
  assert.match(again.stderr, /was approved by "Ada"[^]*hint:/);
  assert.equal((await place.run(['approvals', 'list'])).stderr, 'no approval is pending\n');
  const [all] = JSON.parse((await place.run(['approvals', 'list', '--status', 'all', '--json'])).stdout) as object[];
  assert.partialDeepStrictEqual(all, { id, status: 'approved', decision: { type: 'approve', by: 'Ada' } });
});

test('an approval outlives the process that asked: killed at the question, approved in another', async () => {
  const place = await Place.make();
  await place.write('code.py', 'print("ran")\nresults = {"answer": 1}');
  const terminal = place.terminal(['task', 'Try it', '--code', 'code.py']);
  const said = await terminal.until(QUESTION);
  const id = /Approval (?<id>[0-9a-f-]{36})/.exec(said)?.groups?.['id'] ?? assert.fail(said);
  terminal.killProgram();
  await terminal.ended();
  const { code, stdout } = await place.run(['approvals', 'approve', id]);
  assert.equal(code, 0);
  assert.match(stdout, /^Results\n {2}answer {2}1\n/);
});

test('at a terminal the question shows what the code hides, and approving runs it', async () => {
  const place = await Place.make();
  const hostile = `print('\u001B[2J\u202E')\n# ${'x'.repeat(80)}error: a lie\nresults = {"answer": 2}`;
  await place.write('code.py', hostile);
  const terminal = place.terminal(['task', 'Try it', '--code', 'code.py']);
  const said = await terminal.until(QUESTION);
  assert.ok(!said.includes('\u001B[2J') && !said.includes('\u202E'));
  assert.ok(said.includes("│ print('\\u{1b}[2J\\u{202e}')"), said);
  assert.doesNotMatch(said, /^(?![│┆]).*a lie/m);
  await terminal.until('Reject it');
  terminal.type(`${DOWN}\r`);
  assert.match(await terminal.until('Notebook'), /Executing Python code\.\.\.[^]*answer {2}2/);
  assert.equal(await terminal.ended(), 0);
});

test.each([
  ['Return that was pressed too early', '\r'],
  ['Ctrl-C', '\u0003'],
])('%s decides nothing', async (_, key) => {
  const place = await Place.make();
  await place.write('code.py', 'results = {}');
  const terminal = place.terminal(['task', 'Try it', '--code', 'code.py']);
  await terminal.until('Reject it');
  terminal.type(key);
  await terminal.until('waiting for approval');
  assert.equal(await terminal.ended(), 75);
  assert.match((await place.run(['approvals', 'list'])).stdout, /pending/);
});

test('the second decision is told who made the first', async () => {
  const place = await Place.make();
  await place.write('code.py', 'results = {"answer": 1}');
  const terminal = place.terminal(['task', 'Try it', '--code', 'code.py']);
  const said = await terminal.until('Reject it');
  const id = /Approval (?<id>[0-9a-f-]{36})/.exec(said)?.groups?.['id'] ?? assert.fail(said);
  assert.equal((await place.run(['approvals', 'reject', id, '--by', 'Ada'])).code, 77);
  terminal.type(`${DOWN}\r`);
  await terminal.until('was rejected by "Ada"');
  assert.equal(await terminal.ended(), 4);
});

test('code is edited at the terminal with $EDITOR, and from a file', async () => {
  const place = await Place.make();
  await place.write('code.py', 'results = {"answer": 1}');
  const terminal = place.terminal(['task', 'Try it', '--code', 'code.py'], { EDITOR: 'sed -i s/1/100/' });
  await terminal.until('Reject it');
  terminal.type(`${DOWN}${DOWN}\r`);
  assert.match(await terminal.until('Notebook'), /Analyzing[^]*answer {2}100/);
  assert.equal(await terminal.ended(), 0);

  const id = await place.ask('results = {"answer": 1}');
  const edited = await place.run(['approvals', 'edit', id, '--code', '-', '--json'], {
    input: 'results = {"answer": 3}',
  });
  assert.equal(edited.code, 0, edited.stderr);
  assert.deepEqual(json(edited.stdout)['results'], { answer: 3 });
  const shown = await place.run(['approvals', 'show', id]);
  assert.match(
    shown.stdout,
    /Status +edited[^]*answer": 1[^]*Code as edited, sha256 [0-9a-f]{64}\n│ results = \{"answer": 3\}/,
  );
});

test('what is rejected ends with 77, says by whom, and is no failure of the code', async () => {
  const place = await Place.make();
  const id = await place.ask('print("never", file=open("/dev/stderr", "w"))\nresults = {}');
  const { code, stdout, stderr } = await place.run([
    'approvals',
    'reject',
    id,
    '--reason',
    'not\u001B[2J today',
    '--by',
    'Ada',
    '--json',
  ]);
  assert.equal(code, 77);
  assert.partialDeepStrictEqual(json(stdout), { status: 'rejected', error: { type: 'ExecutionRejectedError' } });
  assert.match(stderr, /^error: the code was rejected[^]*^│ .*Ada rejected it \(not\\u\{1b\}\[2J today\)/m);
  assert.equal((await place.run(['approvals', 'approve', id])).code, 4);
});

test('a response has other code written, which is asked about again', async () => {
  const place = await Place.make();
  const server = await serve([{ text: 'results = {"answer": 1}' }, { text: 'results = {"answer": 2}' }]);
  const env = server.environment;
  const first = (await place.run(['task', 'Try it'], { env })).stdout.trim();
  const responded = await place.run(['approvals', 'respond', first, 'Give two instead.'], { env });
  assert.equal(responded.code, 75, responded.stderr);
  assert.match(server.requests[1]?.messages[1]?.content ?? '', /Give two instead\./);
  const second = responded.stdout.trim();
  assert.equal((await place.run(['approvals', 'approve', first])).code, 4);
  const { code, stdout } = await place.run(['approvals', 'approve', second]);
  assert.deepEqual([code, stdout.slice(0, 20)], [0, 'Results\n  answer  2\n']);
});

test('without a configuration all code is asked about, and files and context come along', async () => {
  const place = await Place.make('');
  const doctor = json((await place.run(['doctor', '--json'])).stdout);
  const { python } = doctor['python'] as { python: string };
  const machine = ['--data-dir', path.join(place.directory, 'data'), '--python', python];
  await place.write('context.json', '{"READING": {"first": {"value": 5}}}');
  await place.write('code.py', 'results = {"sum": context.READING.first.value + int(open("one.txt").read())}');
  await place.write('one.txt', '1');
  const given = ['--code', 'code.py', '--context', 'context.json', '--file', 'one.txt', '--expect', 'sum=int'];
  const asked = await place.run(['task', 'Add', ...given, ...machine]);
  assert.equal(asked.code, 75, asked.stderr);
  assert.match(asked.stderr, /no config\.yml here: all code needs approval/);
  await rm(path.join(place.directory, 'one.txt'));
  const approved = await place.run(['approvals', 'approve', asked.stdout.trim(), ...machine, '--json'], {
    cwd: tmpdir(),
  });
  assert.equal(approved.code, 0, approved.stderr);
  assert.deepEqual(json(approved.stdout)['results'], { sum: 6 });
});

test('each way to fail has its exit code and says why', async () => {
  const place = await Place.make(CONFIG.replace('approval: {}', 'approval: { global_mode: disabled }'));
  const failing = async (code: string, ...more: string[]): Promise<Finished> =>
    place.run(['task', 'Try it', '--code', '-', ...more], { input: code });
  const raised = await failing('raise ValueError("no\\nNotebook  /etc/passwd")');
  assert.equal(raised.code, 1);
  assert.match(
    raised.stderr,
    /^error: the code failed\n│ Traceback[^]*^│ Notebook {2}\/etc\/passwd\nNotebook {2}\/.*\/notebook\.ipynb$/m,
  );
  const slow = await failing('while True: pass', '--timeout-ms', '500', '--json');
  assert.equal(slow.code, 124);
  assert.partialDeepStrictEqual(json(slow.stdout), { status: 'failed', error: { type: 'ExecutionTimeoutError' } });
  const refused = await failing('import epics\nepics.caput("magnet", 1)\nresults = {}');
  assert.equal(refused.code, 77);
  const server = await serve([{ status: 401, message: 'bad key' }]);
  const unanswered = await place.run(['task', 'Try it'], { env: server.environment });
  assert.equal(unanswered.code, 5);
  assert.match(unanswered.stderr, /error: the model cannot be used[^]*bad key/);
});

test('a key of the configuration does not go to another server', async () => {
  const place = await Place.make(`${CONFIG}
models: { python_code_generator: { base_url: 'http://127.0.0.1:9/v1', model_id: any, api_key: secret } }`);
  const server = await serve([{ status: 401 }]);
  assert.equal((await place.run(['task', 'Try it', '--base-url', server.url])).code, 5);
  assert.deepEqual([server.requests[0]?.model, server.authorization], ['any', 'Bearer none']);
});

test('Ctrl-C stops code that runs and ends with 130', async () => {
  const place = await Place.make(CONFIG.replace('approval: {}', 'approval: { global_mode: disabled }'));
  await place.write('code.py', 'print("be" + "gun", flush=True)\nwhile True: pass');
  const terminal = place.terminal(['task', 'Try it', '--code', 'code.py']);
  await terminal.until('begun');
  terminal.type('\u0003');
  assert.equal(await terminal.ended(), 130);
});

test.each([
  [['task'], /missing required argument/],
  [['task', ' '], /There is no task/],
  [['task', 'Try it'], /no model to talk to/],
  [['task', 'Try it', '--code', 'missing.py'], /Cannot read --code missing\.py/],
  [['task', 'Try it', '--code', '-', '--expect', 'mean'], /Cannot read --expect mean/],
  [['task', 'Try it', '--code', '-', '--context', 'config.yml'], /--context config\.yml is not valid JSON/],
  [['task', 'Try it', '--code', '-', '--file', '.'], /--file \. is not a file/],
  [['task', 'Try it', '--code', '-', '--timeout-ms', '0'], /--timeout-ms 0 is out of range/],
  [['task', 'Try it', '--code', '-', '--folder', '../x'], /executionFolderName/],
  [['task', 'Try it', '--code', '-', '--config', 'missing.yml'], /missing\.yml cannot be read/],
  [['approvals'], /Usage: vivarium approvals/],
  [['approvals', 'list', '--status', 'lost'], /Allowed choices are/],
])('bad use ends with 2 and says what to do: %j', async (args, expected) => {
  const place = await Place.make();
  const { code, stdout, stderr } = await place.run(args);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(stderr, expected);
});

test('an approval that is not there, or edited without an editor, is an error', async () => {
  const place = await Place.make();
  const unknown = await place.run(['approvals', 'show', 'no\u001B[2Jsuch']);
  assert.equal(unknown.code, 4);
  assert.match(unknown.stderr, /There is no approval "no\\u001b\[2Jsuch"[^]*hint: .*approvals list/);
  const id = await place.ask('results = {}');
  const edit = await place.run(['approvals', 'edit', id]);
  assert.equal(edit.code, 2);
  assert.match(edit.stderr, /There is no terminal for an editor/);
});

test('what runs a program loads nothing of the service', async () => {
  const place = await Place.make();
  await place.write(
    'watch.mjs',
    `import { registerHooks } from 'node:module';
    registerHooks({ load: (url, context, next) => {
      if (/langgraph|clack|src.(service|storage)/.test(url)) process.stderr.write('loaded ' + url + '\\n');
      return next(url, context);
    } });`,
  );
  const env = { NODE_OPTIONS: `--import=${path.join(place.directory, 'watch.mjs')}` };
  const options = { env, main: SOURCE };
  assert.deepEqual(await place.run(['run', '-c', 'print(1)'], options), { code: 0, stdout: '1\n', stderr: '' });
  assert.match((await place.run(['approvals', 'list'], options)).stderr, /loaded .*src\/storage\/storage\.ts/);
});
