/** The agent of the seeds: a real client of the model over HTTP, real Python behind the tool. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'vitest';
import {
  ActionEvent,
  FinalAnswerEvent,
  FunctionCallingAgent,
  ObservationEvent,
  OpenAILLM,
  ThoughtEvent,
  TokenEvent,
  type AgentEvent,
} from '../../../src/agent.ts';
import { toolResults } from '../../support/openai-server.ts';
import { code, inSession, printedIn, script, useHost } from './laboratory.ts';

const lab = useHost();

async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  return Array.fromAsync(events);
}

test('S-20 an agent is made of a model, tools, a prompt and a limit', async () => {
  const { llm, server } = await script([{ text: 'Hello.' }]);
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool], system_prompt: 'Be brief.', max_iterations: 6 });
  assert.equal(await agent.run('Hi'), 'Hello.');
  const [request] = server.requests;
  assert.deepEqual(
    request?.messages.map(({ role, content }) => ({ role, content })),
    [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
  );
  assert.equal(request?.tools?.[0]?.function.name, 'code_interpreter');
  assert.match(request?.tools?.[0]?.function.description ?? '', /Python 3\./);
  assert.equal(server.authorization, 'Bearer test-key');
});

test('S-20 the limit must be at least 1, and unknown or doubled options are errors', async () => {
  const { llm } = await script([]);
  const make = (options: object) => () => new FunctionCallingAgent({ llm, ...options });
  for (const options of [
    { max_iterations: 0 },
    { maxIteration: 3 },
    { systemPrompt: 'a', system_prompt: 'b' },
    { llm: 'gpt' },
  ]) {
    assert.throws(make(options), { code: 'CONFIG_INVALID' }, JSON.stringify(options));
  }
  assert.throws(make({ tools: [lab.tool, lab.tool] }), { code: 'CONFIG_INVALID', message: /two tools named/ });
});

test.for([
  [10, {}],
  [6, { max_iterations: 6 }],
] as const)('S-20 the model may reply %d times with the options %j', async ([limit, options]) => {
  const { llm, server } = await script(() => ({ calls: [{ name: 'nothing', arguments: {} }] }));
  await new FunctionCallingAgent({ llm, ...options }).run('?');
  assert.equal(server.requests.length, limit);
});

test('S-20 without a prompt the model is told to be helpful', async () => {
  const { llm, server } = await script([{ text: 'Yes.' }]);
  await new FunctionCallingAgent({ llm }).run('?');
  assert.equal(server.requests[0]?.messages[0]?.content, 'You are a helpful AI assistant.');
  assert.equal(server.requests[0]?.tools, undefined);
});

test('S-21 run gives the final answer and nothing before it, found by running code', async () => {
  const { llm } = await script((request) => {
    const [result] = toolResults(request);
    if (result === undefined) return { text: 'I compute it.', ...code('print(6 * 7)') };
    return { text: `The answer is ${printedIn(result)?.trim()}.` };
  });
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool] });
  assert.equal(await agent.run('What is 6 times 7?'), 'The answer is 42.');
});

test('S-22 stream_steps tells each step in order, token by token', async () => {
  const { llm } = await script([{ text: 'I compute it.', ...code('print(1 + 1)') }, { text: 'It is 2.' }]);
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool] });
  const events = await collect(agent.stream_steps('1 + 1?'));
  const types = events.map(({ type }) => type);
  assert.deepEqual(
    types.filter((type, index) => type !== types[index - 1]),
    ['token', 'thought', 'action', 'observation', 'token', 'final_answer'],
  );
  assert.ok(events.every((event) => event.type !== 'token' || event instanceof TokenEvent));
  const [thought] = events.filter((event) => event instanceof ThoughtEvent);
  assert.equal(thought?.thought, 'I compute it.');
});

test('S-23 an action has the tool and its input, which reads as the code', async () => {
  const program = 'a = 1\nb = 2\nc = 3\nprint(a + b + c)';
  const { llm } = await script([code(program), { text: '6' }]);
  const events = await collect(new FunctionCallingAgent({ llm, tools: [lab.tool] }).streamSteps('?'));
  const [action] = events.filter((event) => event instanceof ActionEvent);
  assert.equal(action?.type, 'action');
  assert.equal(action.tool, 'code_interpreter');
  assert.equal(String(action.tool_input), program);
  assert.equal(JSON.stringify(action.tool_input), JSON.stringify({ code: program }));
});

test('S-24 an observation is JSON with the five keys of the tool', async () => {
  const { llm, server } = await script([code('open("n.txt", "w").write("abc")\nprint(7)'), { text: '7' }]);
  const events = await collect(new FunctionCallingAgent({ llm, tools: [lab.tool] }).streamSteps('?'));
  const [seen] = events.filter((event) => event instanceof ObservationEvent);
  assert.equal(seen?.type, 'observation');
  assert.equal(seen.tool, 'code_interpreter');
  const payload = JSON.parse(seen.observation) as Record<string, unknown>;
  assert.deepEqual(Object.keys(payload), ['stdout', 'stderr', 'files', 'plots', 'dataframes']);
  assert.equal(payload['stdout'], '7\n');
  const [file] = payload['files'] as { path: string; size: number }[];
  assert.equal(file?.size, 3);
  assert.equal(await readFile(file.path, 'utf8'), 'abc');
  assert.deepEqual(toolResults(server.requests[1] ?? assert.fail()), [seen.text]);
  assert.deepEqual(JSON.parse(seen.text), payload);
});

test('S-24 P-57 what is too long for the model is still JSON, and says what was left out; programs get all of it', async () => {
  const long = 'open("a.txt", "w").write("1")\nprint("HEAD" + "x" * 50_000 + "TAIL")\nraise ValueError("at the end")';
  const { llm, server } = await script([code(long), { text: 'ok' }]);
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool], maxToolContentLength: 2000 });
  const [seen] = (await collect(agent.streamSteps('?'))).filter((event) => event instanceof ObservationEvent);
  const [shown = ''] = toolResults(server.requests[1] ?? assert.fail());
  assert.ok(shown.length <= 2000, String(shown.length));
  const { stdout, stderr, files, error } = JSON.parse(shown) as Record<string, string>;
  assert.match(stdout ?? '', /^HEADx+\n… \d+ characters omitted …\nx+TAIL\n$/);
  assert.match(stderr ?? '', /ValueError: at the end/);
  assert.equal(error, 'ValueError: at the end');
  assert.match(JSON.stringify(files), /a\.txt.*stdout\.txt/);
  assert.equal(printedIn(seen?.observation), `HEAD${'x'.repeat(50_000)}TAIL\n`);
});

test('S-25 the last event is the final answer', async () => {
  const { llm } = await script([{ text: 'Done.' }]);
  const last = (await collect(new FunctionCallingAgent({ llm }).streamSteps('?'))).at(-1);
  assert.ok(last instanceof FinalAnswerEvent);
  assert.equal(JSON.stringify(last), '{"type":"final_answer","answer":"Done."}');
});

test('S-26 SB-11 the memory has the steps of all questions', async () => {
  const { llm } = await script([code('print("one")'), { text: '1' }, code('print("two")'), { text: '2' }]);
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool] });
  await agent.run('first');
  await agent.run('second');
  const printed = agent.memory.steps.map(({ observation }) => (JSON.parse(observation) as { stdout: string }).stdout);
  assert.deepEqual(printed, ['one\n', 'two\n']);
  assert.equal(agent.memory.steps[0]?.action, 'code_interpreter');
  assert.equal(String(agent.memory.steps[0]?.actionInput), 'print("one")');
  agent.memory.clear();
  assert.equal(agent.memory.length, 0);
});

test('S-28 SB-13 OpenAILLM takes the name of a model and finds the endpoint in the environment', async () => {
  const { server } = await script([{ text: 'Hi.' }]);
  const llm = new OpenAILLM({ model: 'gpt-4o-mini' }, server.environment);
  assert.equal(await new FunctionCallingAgent({ llm }).run('?'), 'Hi.');
  assert.equal(server.requests[0]?.model, 'gpt-4o-mini');
  assert.throws(() => new OpenAILLM({ model: 'gpt-4o-mini' }, {}), { code: 'LLM_NOT_CONFIGURED' });
});

test('S-51 several calls of one reply run one after the other', async () => {
  const { llm, server } = await script([inSession('x = 1', 'x += 1', 'print(x)'), { text: '2' }]);
  await new FunctionCallingAgent({ llm, tools: [lab.python] }).run('?');
  const messages = server.requests[1]?.messages ?? [];
  const asked = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
  const answered = messages.flatMap(({ tool_call_id }) => (tool_call_id === undefined ? [] : [tool_call_id]));
  assert.deepEqual(answered, asked);
  assert.match(toolResults(server.requests[1] ?? assert.fail())[2] ?? '', /^2$/m);
});

test('S-51 a tool that does not exist is an observation that names those that do', async () => {
  const { llm, server } = await script([{ calls: [{ name: 'bash', arguments: {} }] }, { text: 'I cannot.' }]);
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool] });
  assert.equal(await agent.run('?'), 'I cannot.');
  const expected = `Error: "Tool 'bash' not found. Available: ['code_interpreter']"`;
  assert.equal(agent.memory.steps[0]?.observation, expected);
  assert.deepEqual(toolResults(server.requests[1] ?? assert.fail()), [expected]);
});

test('S-51 a tool that fails is an observation', async () => {
  const { llm } = await script([code('1'), { text: 'Sorry.' }]);
  const tool = {
    name: 'code_interpreter',
    define: () => lab.tool.define(),
    call: () => Promise.reject(new Error('the disk is full')),
  };
  const agent = new FunctionCallingAgent({ llm, tools: [tool] });
  await agent.run('?');
  assert.equal(agent.memory.steps[0]?.observation, 'Tool error: the disk is full');
});

test('S-51 arguments that are not JSON are an observation, and the conversation stays valid', async () => {
  const broken = '{"code": "print(1)';
  const { llm, server } = await script([
    { calls: [{ name: 'code_interpreter', arguments: broken }] },
    code('print("repaired")'),
    { text: 'ok' },
  ]);
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool] });
  assert.equal(await agent.run('?'), 'ok');
  assert.match(agent.memory.steps[0]?.observation ?? '', /^Tool error: .*not a JSON object\. Nothing ran\./);
  const [call] = server.requests[1]?.messages.flatMap(({ tool_calls = [] }) => tool_calls) ?? [];
  assert.deepEqual(JSON.parse(call?.function.arguments ?? ''), { invalid_arguments: broken });
});

test('S-51 at the limit the answer says so', async () => {
  const { llm, server } = await script(() => code('print("again")'));
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool], maxIterations: 3 });
  assert.equal(await agent.run('?'), 'I was unable to complete the task within the allowed number of steps.');
  assert.equal(server.requests.length, 3);
  assert.equal(agent.memory.length, 3);
});

test('SB-03 the model sees traceback and output of failing code, repairs it and succeeds', async () => {
  const { llm, server } = await script((request, turn) => {
    if (turn === 0) return code('print("loaded")\ntotal = 1 / 0');
    const results = toolResults(request);
    if (turn === 1) {
      const seen = JSON.parse(results[0] ?? '') as Record<string, unknown>;
      assert.deepEqual(Object.keys(seen), ['stdout', 'stderr', 'files', 'plots', 'dataframes', 'error']);
      assert.equal(seen['stdout'], 'loaded\n');
      assert.match(String(seen['stderr']), /^Traceback[^]*line 2[^]*ZeroDivisionError: division by zero\n$/);
      return code('total = 1 / 4\nprint(total)');
    }
    return { text: `It is ${printedIn(results[1])?.trim()}.` };
  });
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool] });
  assert.equal(await agent.run('?'), 'It is 0.25.');
  const [failed] = agent.memory.steps.map(({ observation }) => JSON.parse(observation) as Record<string, string>);
  assert.equal(failed?.['stdout'], 'loaded\n');
  assert.match(failed['stderr'] ?? '', /ZeroDivisionError/);
  assert.equal(server.requests.length, 3);
});

test('an agent whose code crashes the interpreter goes on with its variables', async () => {
  const { llm, server } = await script([
    inSession('rows = [1, 2, 3]'),
    inSession('import ctypes; ctypes.string_at(0)'),
    inSession('print(sum(rows))'),
    { text: 'It is 6.' },
  ]);
  const agent = new FunctionCallingAgent({ llm, tools: [lab.python] });
  assert.equal(await agent.run('?'), 'It is 6.');
  const results = toolResults(server.requests[3] ?? assert.fail());
  assert.match(results[1] ?? '', /crashed.*\n.*every variable is as it was before this run/);
  assert.match(results[2] ?? '', /^6$/m);
});

test('P-47 two agents in one process never see each other’s variables', async () => {
  const { llm } = await script((request) => {
    const asked = request.messages.at(-1);
    return asked?.role === 'user' ? inSession(asked.content ?? '') : { text: asked?.content ?? '' };
  });
  const { python } = lab;
  const [first, second] = ['a', 'b'].map(() => new FunctionCallingAgent({ llm, tools: [python] }));
  assert.ok(first && second);
  await first.run('secret = 41');
  assert.match(await second.run('print("secret" in globals())'), /^False$/m);
  assert.match(await first.run('print(secret + 1)'), /^42$/m);
});

test('P-57 the model sees no more of an answer than it may', async () => {
  const { llm, server } = await script([code('print("x" * 5000)'), { text: 'ok' }]);
  await new FunctionCallingAgent({ llm, tools: [lab.tool], maxToolContentLength: 300 }).run('?');
  const [shown = ''] = toolResults(server.requests[1] ?? assert.fail());
  assert.ok(shown.length < 350);
  assert.match(shown, /characters omitted/);
});

test('P-57 a call that takes too long is stopped, the model is told why, and the variables stay', async () => {
  const { llm, server } = await script([
    inSession('n = 7'),
    { text: 'Kept.' },
    inSession('while True: pass', 'print(n)'),
    { text: 'Seven.' },
  ]);
  const { python } = lab;
  const clientId = 'patient';
  await new FunctionCallingAgent({ llm, tools: [python], clientId }).run('?');
  const agent = new FunctionCallingAgent({ llm, tools: [python], clientId, toolTimeoutMs: 1000 });
  assert.equal(await agent.run('?'), 'Seven.');
  const [stopped, after] = toolResults(server.requests[3] ?? assert.fail());
  assert.match(stopped ?? '', /\[stopped: a call may take 1000 ms\]$/);
  assert.match(after ?? '', /^7$/m);
});
