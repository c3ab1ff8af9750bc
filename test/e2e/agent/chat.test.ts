/** The agent that people talk with. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'vitest';
import { Agent } from '../../../src/agent.ts';
import { PythonInterpreterToolSet } from '../../../src/tools.ts';
import { toolResults } from '../../support/openai-server.ts';
import { inSession, script, useHost } from './laboratory.ts';

const lab = useHost();

/** What a chat shows when these lines are typed. */
async function chat(agent: Agent, lines: readonly string[]): Promise<string> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const shown = text(output);
  input.end(lines.map((line) => `${line}\n`).join(''));
  await agent.chat({ input, output });
  output.end();
  return shown;
}

test('P-06 a toolset is attached at run time, and chat talks until the input ends', async () => {
  const { llm, server } = await script([
    { text: 'Let me see.', ...inSession('x = 2 ** 10\nprint(x)') },
    { text: 'It is 1024.' },
    inSession('print(x + 1)'),
    { text: 'And that is 1025.' },
  ]);
  const agent = new Agent({ name: 'data_scientist', instructions: 'You analyze data.', model: llm });
  await agent.toolset(lab.toolset);
  const shown = await chat(agent, ['What is 2 to the 10?', '', 'And one more?']);
  assert.equal(
    shown,
    [
      'Let me see.',
      '│ x = 2 ** 10',
      '│ print(x)',
      '1024',
      '[variables: added x]',
      'It is 1024.',
      '│ print(x + 1)',
      '1025',
      'And that is 1025.',
      '',
    ].join('\n'),
  );
  assert.equal(server.requests[0]?.messages[0]?.content, 'You analyze data.');
});

test('P-06 of two toolsets on one agent, the names of the second begin with its own', async () => {
  const { llm, server } = await script([
    inSession('x = 1'),
    { calls: [{ name: 'statistics_run_python_code', arguments: { code: 'print("x" in globals())' } }] },
    { text: 'Done.' },
  ]);
  const agent = new Agent({ name: 'a', model: llm });
  await agent.toolset(lab.toolset);
  await agent.toolset(new PythonInterpreterToolSet({ name: 'statistics', host: lab.host, workdir: false }));
  assert.equal(await agent.run('Both, please'), 'Done.');
  const tools = server.requests[0]?.tools?.map((tool) => tool.function) ?? [];
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['run_python_code', 'manage_interpreters', 'statistics_run_python_code', 'statistics_manage_interpreters'],
  );
  assert.match(JSON.stringify(tools[2]?.parameters), /interpreter from statistics_manage_interpreters/);
  assert.match(JSON.stringify(tools[0]?.parameters), /interpreter from manage_interpreters/);
  assert.match(JSON.stringify(server.requests[2]?.messages.at(-1)), /False/);
  const third = new PythonInterpreterToolSet({ name: 'statistics', host: lab.host });
  await assert.rejects(async () => agent.toolset(third), /two tools named 'statistics_run_python_code'/);
});

test('P-06 the model is told what was said before, calls and results included', async () => {
  const { llm, server } = await script([inSession('print(3)'), { text: 'Three.' }, { text: 'As I said.' }]);
  const agent = new Agent({ name: 'a', model: llm });
  await agent.toolset(lab.toolset);
  await agent.run('first');
  assert.equal(await agent.run('second'), 'As I said.');
  const roles = server.requests[2]?.messages.map(({ role }) => role);
  assert.deepEqual(roles, ['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
});

test('what was said goes in whole exchanges when it is too much, and all at once when asked', async () => {
  const { llm, server } = await script(() => ({ text: 'x'.repeat(600) }));
  const agent = new Agent({ name: 'a', model: llm, maxHistoryChars: 2000 });
  for (const message of ['one', 'two', 'three']) await agent.run(message);
  const asked = server.requests[2]?.messages.flatMap(({ role, content }) => (role === 'user' ? [content] : []));
  assert.deepEqual(asked, ['two', 'three']);
  agent.forget();
  await agent.run('four');
  assert.equal(server.requests[3]?.messages.length, 2);
});

test('an answer that fails leaves no trace in the conversation', async () => {
  const { llm, server } = await script([inSession('print(1)'), { status: 500 }, { text: 'Fine.' }], { maxRetries: 0 });
  const agent = new Agent({ name: 'a', model: llm });
  await agent.toolset(lab.toolset);
  await assert.rejects(agent.run('first'), { code: 'LLM_FAILED' });
  assert.equal(await agent.run('second'), 'Fine.');
  assert.deepEqual(
    server.requests[2]?.messages.map(({ role }) => role),
    ['system', 'user'],
  );
});

test('a chat says what failed and goes on; exit leaves', async () => {
  const { llm, server } = await script([{ status: 401, message: 'bad key' }, { text: 'Hello.' }], { maxRetries: 0 });
  const shown = await chat(new Agent({ name: 'a', model: llm }), ['Hi', 'Hi again', 'exit', 'not asked']);
  assert.match(shown, /error: The model failed with status 401: .*bad key[^]*\nHello\.\n$/);
  assert.equal(server.requests.length, 2);
});

test('neither model nor program gives orders to the terminal', async () => {
  const { llm } = await script([
    inSession('print("\\x1b]0;owned\\x07\\x1b[2Jtext")'),
    { text: 'bye \u001B[31mred\u009B31m\r!' },
  ]);
  const agent = new Agent({ name: 'a', model: llm });
  await agent.toolset(lab.toolset);
  const shown = await chat(agent, ['go']);
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(shown, /[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/u);
  assert.match(shown, /bye \[31mred31m\n!/);
});

test('P-47 two agents with one toolset have interpreters of their own', async () => {
  const { llm } = await script((request) => {
    const last = request.messages.at(-1);
    return last?.role === 'user' ? inSession(last.content ?? '') : { text: last?.content ?? '' };
  });
  const [first, second] = ['a', 'b'].map((name) => new Agent({ name, model: llm }));
  assert.ok(first && second);
  const { toolset } = lab;
  await Promise.all([first.toolset(toolset), second.toolset(toolset)]);
  await Promise.all([first.run('x = 10'), second.run('x = 20')]);
  assert.match(await first.run('print(x)'), /^10$/m);
  assert.match(await second.run('print(x)'), /^20$/m);
  assert.notEqual(first.clientId, second.clientId);
});

test('P-43 U-37 pictures of the toolset are for the page, not for the model', async () => {
  const program = 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()';
  const { llm, server } = await script([inSession(program), { text: 'Drawn.' }]);
  const agent = new Agent({ name: 'artist', model: llm });
  await agent.toolset(lab.toolset);
  await agent.run('Draw.');
  const payload = JSON.parse(agent.memory.steps[0]?.observation ?? '') as { base64_uri: string[] };
  assert.match(payload.base64_uri[0] ?? '', /^data:image\/png;base64,iVBORw0KGgo/);
  const [shown = ''] = toolResults(server.requests[1] ?? assert.fail());
  assert.doesNotMatch(shown, /base64|iVBOR|hidden_to_model/);
  assert.match(shown, /figure/);
});

test('an agent answers one message at a time', async () => {
  const gate = Promise.withResolvers<void>();
  const { llm } = await script([{ text: 'One two.', until: gate.promise }]);
  const agent = new Agent({ name: 'slow', model: llm });
  const first = agent.run('first');
  await assert.rejects(agent.run('second'), { code: 'USAGE', message: /slow is still answering/ });
  gate.resolve();
  assert.equal(await first, 'One two.');
});

test('interrupting stops an answer and the chat goes on', async () => {
  const gate = Promise.withResolvers<void>();
  const { llm, server } = await script([{ text: 'One two.', until: gate.promise }, { text: 'Yes?' }]);
  const { Chat } = await import('../../../src/agent/chat/chat.ts');
  const [input, output] = [new PassThrough(), new PassThrough()];
  const talk = new Chat(new Agent({ name: 'a', model: llm }), { input, output });
  const shown = text(output);
  const talking = talk.run();
  assert.equal(talk.interrupt(), false);
  input.write('first\n');
  server.once('hang-up', () => input.end('second\n'));
  output.on('data', (chunk) => String(chunk).includes('One') && talk.interrupt());
  await once(server, 'hang-up');
  await talking;
  output.end();
  assert.equal(await shown, 'One \ninterrupted; the variables are still there\nYes?\n');
});
