/** `vivarium agent` and `vivarium tools` as a shell sees them. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished, test } from 'vitest';
import { OpenAIServer, toolResults, type Reply, type Script } from '../../support/openai-server.ts';
import { Terminal } from '../../support/terminal.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const MAIN = path.join(ROOT, 'src/cli/main.ts');
const NO_MODEL = Object.fromEntries(
  ['VIVARIUM_LLM_BASE_URL', 'VIVARIUM_LLM_API_KEY', 'VIVARIUM_LLM_MODEL', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'].map(
    (name) => [name, undefined],
  ),
);

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...NO_MODEL, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function vivarium(args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): Promise<Finished> {
  const child = start(args, env);
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}

async function serve(script: Script | readonly Reply[]): Promise<OpenAIServer> {
  const server = await OpenAIServer.start(script);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

async function scratch(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'vivarium-agent-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

function code(program: string): Reply {
  return { calls: [{ name: 'run_python_code', arguments: { code: program } }] };
}

test('the answer alone is on standard output, steps are on standard error', async () => {
  const directory = await scratch();
  const file = path.join(directory, 'sales.csv');
  await writeFile(file, 'month,sold\njan,3\nfeb,9\n');
  const server = await serve((request) => {
    const [seen] = toolResults(request);
    return seen === undefined
      ? {
          text: 'I look.',
          ...code(
            'import csv\nprint(max(csv.DictReader(open("sales.csv")), key=lambda row: int(row["sold"]))["month"])',
          ),
        }
      : { text: `It is ${seen.split('\n')[0]}.` };
  });
  const {
    code: exitCode,
    stdout,
    stderr,
  } = await vivarium(['agent', 'Which month sold most?', '--file', file, '--model', 'other'], server.environment);
  assert.equal(stdout, 'It is feb.\n');
  assert.match(stderr, /^I look\.\n│ import csv\n│ print\(max.*\nfeb\n$/);
  assert.equal(exitCode, 0);
  assert.equal(server.requests[0]?.model, 'other');
  assert.match(server.requests[0]?.messages[0]?.content ?? '', /the file sales\.csv \(23 bytes\)/);
  assert.match(server.requests[0]?.tools?.[0]?.function.description ?? '', /60\.0 seconds and use 1024 MB/);
});

test('S-52 S-53 --react is for a model that cannot call tools, and without it there is a hint', async () => {
  const server = await serve((request, turn) => {
    if (request.tools) return { status: 400, message: 'gemma2 does not support tools' };
    const action = 'Thought: I compute.\nAction: run_python_code\nAction Input:\n```python\nprint(6 * 7)\n```';
    return {
      text: turn < 2 ? `${action}\nObservation: 41\nFinal Answer: 41` : 'Thought: I know.\nFinal Answer: It is 42.',
    };
  });
  const refused = await vivarium(['agent', 'What is 6 times 7?'], server.environment);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /does not support tools\. Use ReActAgent[^]*hint:.*--react/);
  const {
    code: exitCode,
    stdout,
    stderr,
  } = await vivarium(['agent', '--react', 'What is 6 times 7?'], server.environment);
  assert.equal(stdout, 'It is 42.\n');
  assert.equal(stderr, 'I compute.\n│ print(6 * 7)\n42\nI know.\n');
  assert.equal(exitCode, 0);
});

test('files and figures are put where they can be kept', async () => {
  const directory = await scratch();
  const server = await serve([
    code('open("notes.txt", "w").write("kept")\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()'),
    { text: 'Done.' },
  ]);
  const { code: exitCode, stderr } = await vivarium(
    ['agent', '--output-dir', directory],
    server.environment,
    'Make a file and a figure.',
  );
  assert.equal(exitCode, 0);
  assert.equal(await readFile(path.join(directory, 'notes.txt'), 'utf8'), 'kept');
  assert.equal((await readFile(path.join(directory, 'figure-1.png'))).subarray(1, 4).toString(), 'PNG');
  assert.ok(stderr.includes(`[picture: ${path.join(directory, 'figure-1.png')}]`));
  assert.ok(stderr.includes(`[file: ${path.join(directory, 'notes.txt')}]`));
});

test('without a model, a question or a file there is a hint, and nothing is started', async () => {
  const none = await vivarium(['agent', 'Hi']);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /no model to talk to.*VIVARIUM_LLM_BASE_URL[^]*hint:/);
  const server = await serve([]);
  const silent = await vivarium(['agent'], server.environment);
  assert.equal(silent.code, 2);
  assert.match(silent.stderr, /There is no question/);
  const lost = await vivarium(['agent', 'Hi', '--file', '/nowhere.csv'], server.environment);
  assert.equal(lost.code, 2);
  assert.match(lost.stderr, /Cannot read --file \/nowhere\.csv/);
  assert.equal(server.requests.length, 0);
});

test('a model that fails and one that never answers end with codes of their own', async () => {
  const failing = await serve([{ status: 401, message: 'bad key' }]);
  const refused = await vivarium(['agent', 'Hi'], failing.environment);
  assert.equal(refused.code, 5);
  assert.match(refused.stderr, /error: The model failed with status 401: .*bad key/);
  const endless = await serve(() => code('1/0'));
  const unfinished = await vivarium(['agent', 'Hi', '--max-iterations', '2'], endless.environment);
  assert.equal(unfinished.code, 1);
  assert.match(unfinished.stdout, /unable to complete the task/);
  assert.match(unfinished.stderr, /ZeroDivisionError/);
  assert.equal(endless.requests.length, 2);
});

test('Ctrl-C stops code that runs and ends with 130', async () => {
  const server = await serve(() => code('print("begun", flush=True)\nwhile True: pass'));
  const child = start(['agent', 'Hi'], server.environment);
  let said = '';
  for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    if (/^begun$/m.test(said)) break;
  }
  child.kill('SIGINT');
  await once(child, 'close');
  assert.equal(child.exitCode, 130);
  assert.equal(server.requests.length, 1);
});

test('at a terminal there is a chat: Ctrl-C stops an answer, pictures are shown, Ctrl-D leaves', async () => {
  const server = await serve([
    code('x = 41\nprint("be" + "gun", flush=True)\nwhile True: pass'),
    code('print(x + 1)\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])'),
    { text: 'It is 42.' },
  ]);
  const terminal = new Terminal([MAIN, 'agent'], { ...NO_MODEL, ...server.environment, TERM: 'xterm-kitty' });
  const prompt = '> \u001B[3G'; // only then is what is typed for the line
  await terminal.until(prompt);
  terminal.type('first\r');
  await terminal.until('begun');
  terminal.type('\u0003');
  await terminal.until('interrupted; the variables are still there');
  await terminal.until(prompt);
  terminal.type('second\r');
  const shown = await terminal.until('It is 42.');
  assert.match(shown, /42\r?\n/);
  assert.match(shown.replaceAll('\u001B', 'ESC'), /ESC_Ga=T,f=100,m=[01];iVBORw0KGgo/);
  await terminal.until(prompt);
  terminal.type('\u0004');
  assert.equal(await terminal.ended(), 0);
});

test('P-06 the example with a toolset talks on the terminal, keeps its variables and ends', async () => {
  const server = await serve([
    { calls: [{ name: 'run_python_code', arguments: { code: 'answer = 6 * 7\nanswer' } }] },
    { text: 'It is computed.' },
    { calls: [{ name: 'run_python_code', arguments: { code: 'print(answer + 1)' } }] },
    { text: 'One more, then.' },
  ]);
  const example = path.join(ROOT, 'examples/data-scientist.ts');
  const cwd = await mkdtemp(path.join(tmpdir(), 'viv-example-'));
  await chmod(cwd, 0o755);
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const terminal = new Terminal([example], { ...NO_MODEL, ...server.environment, TERM: 'xterm' }, { cwd });
  await terminal.until('> ');
  terminal.type('What is it?\r');
  assert.match(await terminal.until('It is computed.'), /│ answer\r\n42\r\n/);
  await terminal.until('> ');
  terminal.type('And one more?\r');
  assert.match(await terminal.until('One more, then.'), /43\r\n/);
  await terminal.until('> ');
  terminal.type('exit\r');
  assert.equal(await terminal.ended(), 0);
});

test('P-06 agent.chat() without a terminal says what to do instead', async () => {
  const program = `
    import { Agent } from ${JSON.stringify(path.join(ROOT, 'src/agent.ts'))};
    await new Agent({ name: 'a' }).chat().catch((error) => console.log(error.code, error.message));`;
  // Detached is a session of its own, which has no terminal.
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { detached: true, stdio: 'pipe' });
  const [stdout] = await Promise.all([text(child.stdout), once(child, 'close')]);
  assert.match(stdout, /^USAGE This process has no terminal\. Pass an input and an output stream/);
});

test('U-24 vivarium tools prints the tools in each form', async () => {
  const names: string[][] = [];
  for (const [format, schema] of [
    ['openai', 'parameters'],
    ['anthropic', 'input_schema'],
    ['mcp', 'inputSchema'],
  ]) {
    const { code: exitCode, stdout } = await vivarium(['tools', '--format', format ?? '']);
    assert.equal(exitCode, 0);
    const tools = JSON.parse(stdout) as Record<string, Record<string, unknown>>[];
    const plain = tools.map((tool) => (format === 'openai' ? tool['function'] : tool) ?? assert.fail());
    names.push(plain.map(({ name }) => String(name)));
    assert.ok(plain.every((tool) => schema !== undefined && typeof tool[schema] === 'object'));
  }
  assert.deepEqual(names[0]?.slice(0, 3), ['run_python_code', 'manage_interpreters', 'code_interpreter']);
  assert.deepEqual(names[1], names[0]);
  assert.deepEqual(names[2], names[0]);
});
