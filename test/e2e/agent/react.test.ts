/** Models that cannot call tools: they write what they want as text, over real HTTP, and real Python runs it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { ChatOpenAI } from '@langchain/openai';
import { test } from 'vitest';
import { Agent, FunctionCallingAgent, ReActAgent, type AgentEvent } from '../../../src/agent.ts';
import type { ChatRequest, OpenAIServer, Reply, Script } from '../../support/openai-server.ts';
import { printedIn, script, useHost } from './laboratory.ts';

const lab = useHost();

/** A server whose model was never taught to call tools, and says so as Ollama does. */
function untaught(answer: Script): Script {
  return (request, turn) =>
    request.tools === undefined
      ? answer(request, turn)
      : { status: 400, message: 'registry.ollama.ai/library/gemma2 does not support tools' };
}

/** Replies one after the other. */
function writes(...replies: readonly string[]): Script {
  return untaught((_, turn) => ({ text: replies[turn] ?? 'Final Answer: the script is over' }));
}

function act(program: string, thought = 'I compute it.'): string {
  return `Thought: ${thought}\nAction: code_interpreter\nAction Input:\n\`\`\`python\n${program}\n\`\`\``;
}

/** What the model was told last. */
function heard(request: ChatRequest | undefined): string {
  return request?.messages.at(-1)?.content ?? '';
}

function typesOf(events: readonly AgentEvent[]): string[] {
  const types = events.map(({ type }) => type);
  return types.filter((type, index) => type !== types[index - 1]);
}

const BROKEN = `import matplotlib.pyplot as plt
print("drawing")
plt.bars([0, 1, 2], [3, 7, 2])
plt.savefig("chart.png")`;

test('S-52 S-53 SB-03 a model without tool calling repairs failing code, plots and answers', async () => {
  const { llm, server } = await script(
    untaught((request, turn) => {
      if (turn === 0) return { text: act(BROKEN) };
      if (turn > 1)
        return { text: `Thought: It is drawn.\nFinal Answer: See ${/chart\.png/.exec(heard(request))?.[0]}.` };
      assert.match(heard(request), /^Observation: \{"stdout":"drawing\\n"/);
      assert.match(heard(request), /AttributeError: module 'matplotlib\.pyplot' has no attribute 'bars'/);
      return { text: act(BROKEN.replace('plt.bars', 'plt.bar'), 'The function is bar.') };
    }),
  );
  const tools = [lab.tool];
  await assert.rejects(new FunctionCallingAgent({ llm, tools }).run('Draw 3, 7, 2.'), {
    code: 'LLM_UNSUITABLE',
    message: /does not support tools\. Use ReActAgent/,
  });
  server.requests.length = 0;
  const agent = new ReActAgent({ llm, tools, system_prompt: 'Be brief.', max_iterations: 6 });
  assert.equal(await agent.run('Draw 3, 7, 2.'), 'See chart.png.');

  const [failed, drawn] = agent.memory.steps;
  assert.equal(failed?.thought, 'I compute it.');
  assert.match(failed.observation, /"stdout":"drawing\\n".*AttributeError/);
  const { plots } = JSON.parse(drawn?.observation ?? '') as { plots: { path: string }[] };
  assert.equal((await readFile(plots[0]?.path ?? '')).subarray(1, 4).toString(), 'PNG');

  const [system] = server.requests[0]?.messages ?? [];
  assert.match(
    system?.content ?? '',
    /^Be brief\.\n\n.*code_interpreter: Executes Python code.*"required":\["code"\]/s,
  );
  const roles = server.requests[2]?.messages.map(({ role }) => role);
  assert.deepEqual(roles, ['system', 'user', 'assistant', 'user', 'assistant', 'user']);
});

test('S-53 an observation that the model makes up is cut off, hung up on and never believed', async () => {
  const never = Promise.withResolvers<void>();
  const { llm, server } = await script((request, turn) => {
    const made = `${act('print(6 * 7)')}\nObservation: 999\nThought: I know.\nFinal Answer: It is 999. And`;
    if (turn === 0) return { text: `${made} more`, until: never.promise };
    return { text: `Final Answer: It is ${printedIn(heard(request))?.trim()}.` };
  });
  const agent = new ReActAgent({ llm, tools: [lab.tool] });
  const events = await Array.fromAsync(agent.streamSteps('What is 6 times 7?'));
  assert.equal(JSON.stringify(events.at(-1)), '{"type":"final_answer","answer":"It is 42."}');
  assert.doesNotMatch(JSON.stringify(events), /999/);
  assert.doesNotMatch(JSON.stringify(server.requests[1]?.messages), /999/);
  await untilHungUp(server);
  never.resolve();
});

test('S-53 an answer that rests on nothing but a made-up observation is no answer, however often it comes', async () => {
  const made = 'Thought: I ran it.\nObservation: 999\nFinal Answer: It is 999.';
  const { llm, server } = await script(writes(made, made, act('print(6 * 7)'), 'Final Answer: It is 42.'));
  const agent = new ReActAgent({ llm, tools: [lab.tool] });
  assert.equal(await agent.run('What is 6 times 7?'), 'It is 42.');
  assert.equal(server.requests.length, 4);
  assert.doesNotMatch(JSON.stringify(server.requests), /999/);
});

test('S-53 the model is asked to stop before observations, unless its endpoint knows no stop words', async () => {
  const { llm, server } = await script((request) =>
    request['stop'] === undefined
      ? { text: 'Final Answer: Without.' }
      : { status: 400, message: "Unsupported parameter: 'stop' is not supported with this model." },
  );
  assert.equal(await new ReActAgent({ llm }).run('?'), 'Without.');
  assert.deepEqual(
    server.requests.map(({ stop }) => stop),
    [['\nObservation:'], undefined],
  );
});

test('S-53 of several actions in one reply only the first is carried out', async () => {
  const { llm, server } = await script(
    writes(
      'Action: run_python_code\nAction Input: x = 1\nAction: run_python_code\nAction Input: x = 2\nFinal Answer: 2',
      'Action: run_python_code\nAction Input: print(x)',
      'Final Answer: One.',
    ),
  );
  const agent = new ReActAgent({ llm, tools: [lab.python] });
  assert.equal(await agent.run('?'), 'One.');
  assert.equal(agent.memory.length, 2);
  assert.match(heard(server.requests[2]), /^Observation: 1$/m);
});

test('S-51 a tool that does not exist, and input that cannot be used, are observations', async () => {
  const { llm } = await script(
    writes(
      'Thought: a shell\nAction: bash\nAction Input: ls',
      "Action: code_interpreter\nAction Input: {\"code\": \"open('ran', 'w')",
      'Action: code_interpreter\nAction Input:\n```python\nprint("half")',
      'Action: code_interpreter',
      act('print("whole")'),
      'Final Answer: Done.',
    ),
  );
  const agent = new ReActAgent({ llm, tools: [lab.tool] });
  assert.equal(await agent.run('?'), 'Done.');
  const [lost, json, fence, empty, whole] = agent.memory.steps.map(({ observation }) => observation);
  assert.equal(lost, `Error: "Tool 'bash' not found. Available: ['code_interpreter']"`);
  assert.match(json ?? '', /^Tool error: .*not valid JSON\. Nothing ran\./);
  assert.match(fence ?? '', /^Tool error: .*fence is not closed\. Nothing ran\./);
  assert.match(empty ?? '', /^Tool error: .*is empty\. Nothing ran\./);
  assert.match(whole ?? '', /"stdout":"whole\\n"/);
});

test('S-41 input under the name `input` reaches the code interpreter', async () => {
  const { llm } = await script(
    writes('Action: code_interpreter\nAction Input: {"input": "print(2 + 3)"}', 'Final Answer: 5'),
  );
  const agent = new ReActAgent({ llm, tools: [lab.tool] });
  await agent.run('?');
  assert.match(agent.memory.steps[0]?.observation ?? '', /"stdout":"5\\n"/);
  assert.equal(String(agent.memory.steps[0]?.action_input), 'print(2 + 3)');
});

test('code that the length of a reply cuts off does not run', async () => {
  const cut: Reply = { text: 'Action: code_interpreter\nAction Input: print(1)\nprint(', finish: 'length' };
  const { llm } = await script([cut, { text: 'Final Answer: I see.' }]);
  const agent = new ReActAgent({ llm, tools: [lab.tool] });
  assert.equal(await agent.run('?'), 'I see.');
  assert.match(agent.memory.steps[0]?.observation ?? '', /cut off at its maximum length\. Nothing ran/);
});

test('U-52 without action and answer the model is reminded of the format once, then its words are the answer', async () => {
  const { llm, server } = await script(writes('Let me think.', 'It is 42.'));
  const agent = new ReActAgent({ llm, tools: [lab.tool] });
  const events = await Array.fromAsync(agent.streamSteps('?'));
  assert.match(
    heard(server.requests[1]),
    /^Observation: Please follow the format: .*neither an Action nor a Final Answer/,
  );
  assert.deepEqual(typesOf(events), ['token', 'thought', 'observation', 'token', 'final_answer']);
  const [reminder] = events.filter((event) => event.type === 'observation');
  assert.equal(reminder?.tool, 'NoAction');
  assert.equal(reminder.isError, true);
  const last = events.at(-1);
  assert.equal(last?.type === 'final_answer' && last.answer, 'It is 42.');
  assert.equal(agent.memory.length, 0);
});

test('S-51 at the limit the answer says so, for a model that never follows the format too', async () => {
  const acting = await script(untaught(() => ({ text: act('print(1)') })));
  const limited = new ReActAgent({ llm: acting.llm, tools: [lab.tool], maxIterations: 2 });
  const LIMIT = 'I was unable to complete the task within the allowed number of steps.';
  assert.equal(await limited.run('?'), LIMIT);
  assert.equal(acting.server.requests.length, 2);
  const silent = await script(() => ({ text: ' ' }));
  assert.equal(await new ReActAgent({ llm: silent.llm, maxIterations: 3 }).run('?'), LIMIT);
  assert.equal(silent.server.requests.length, 3);
});

test('S-22 S-49 the steps are those of every agent, and tokens come while the model still writes', async () => {
  const gate = Promise.withResolvers<void>();
  const { llm } = await script((_, turn) =>
    turn === 0
      ? { text: act('print(1 + 1)', 'I add them.') }
      : { text: 'Thought: I know.\nFinal Answer: It is 2.', until: gate.promise },
  );
  const events: AgentEvent[] = [];
  for await (const event of new ReActAgent({ llm, tools: [lab.tool] }).stream_steps('1 + 1?')) {
    events.push(event);
    if (event.type === 'token' && event.token.endsWith('is')) gate.resolve(); // the last word is not sent before
  }
  assert.deepEqual(typesOf(events), [
    'token',
    'thought',
    'action',
    'observation',
    'token',
    'thought',
    'token',
    'final_answer',
  ]);
  const said = events.flatMap((event) => (event.type === 'token' ? [event.token] : []));
  assert.equal(said.join(''), 'I add them.I know.It is 2.');
  const [action] = events.filter((event) => event.type === 'action');
  assert.equal(action?.code, 'print(1 + 1)');
});

test('aborting hangs up on a model that still writes, and stops code that runs', async () => {
  const gate = Promise.withResolvers<void>();
  const writing = await script([{ text: 'Thought: one two three four.', until: gate.promise }]);
  await assert.rejects(
    untilStopped(new ReActAgent({ llm: writing.llm }), ({ type }) => type === 'token'),
    { name: 'AbortError' },
  );
  await untilHungUp(writing.server);
  gate.resolve();

  const { llm } = await script(
    writes(
      'Action: run_python_code\nAction Input: x = 5',
      'Action: run_python_code\nAction Input: while True: pass',
      'Action: run_python_code\nAction Input: print(x)',
      'Final Answer: It stays.',
    ),
  );
  const running = new ReActAgent({ llm, tools: [lab.python] });
  await assert.rejects(
    untilStopped(running, (event) => event.type === 'action' && event.code?.startsWith('while')),
    {
      name: 'AbortError',
    },
  );
  assert.equal(await running.run('?'), 'It stays.');
  assert.match(running.memory.steps.at(-1)?.observation ?? '', /"stdout":"5\\n"/);
});

test('breaking out of the loop hangs up too', async () => {
  const gate = Promise.withResolvers<void>();
  const { llm, server } = await script([{ text: 'Thought: one two three.', until: gate.promise }]);
  for await (const event of new ReActAgent({ llm }).streamSteps('?')) {
    if (event.type === 'token') break;
  }
  await untilHungUp(server);
  gate.resolve();
  assert.equal(server.hangUps, 1);
});

test('a model of LangChain that has no bindTools, and one that does not stream, work as well', async () => {
  class Writer extends BaseChatModel {
    override _llmType(): string {
      return 'writer';
    }

    override _generate(messages: BaseMessage[]): Promise<ChatResult> {
      const seen = printedIn(messages.at(-1)?.text);
      const text = seen === undefined ? act('print(2 ** 10)') : `Final Answer: ${seen.trim()}`;
      return Promise.resolve({ generations: [{ text, message: new AIMessage(text) }] });
    }
  }
  assert.equal(await new ReActAgent({ llm: new Writer({}), tools: [lab.tool] }).run('?'), '1024');
  const { server } = await script(writes(act('print(7)'), 'Final Answer: Seven.'));
  const configuration = { baseURL: server.url };
  const llm = new ChatOpenAI({ model: 'scripted', apiKey: 'none', disableStreaming: true, configuration });
  assert.equal(await new ReActAgent({ llm, tools: [lab.tool] }).run('?'), 'Seven.');
});

test('P-06 an agent to talk with remembers what was said in words, too', async () => {
  const { llm, server } = await script(
    writes(
      'Action: run_python_code\nAction Input: x = 3\nprint(x)',
      'Final Answer: Three.',
      'Final Answer: As I said.',
    ),
  );
  const agent = new Agent({ name: 'a', instructions: 'Be brief.', model: llm, agentType: 'react' });
  await agent.toolset(lab.toolset);
  assert.equal(await agent.run('first'), 'Three.');
  assert.equal(await agent.run('second'), 'As I said.');
  const { messages = [] } = server.requests[2] ?? {};
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user', 'assistant', 'user'],
  );
  assert.equal(messages[4]?.content, 'Final Answer: Three.');
  assert.match(messages[0]?.content ?? '', /^Be brief\.[^]*run_python_code: [^]*manage_interpreters: /);
});

/** Aborts soon after such an event. */
async function untilStopped(agent: ReActAgent, isDue: (event: AgentEvent) => boolean | undefined): Promise<void> {
  const stop = new AbortController();
  for await (const event of agent.streamSteps('?', { signal: stop.signal })) {
    if (isDue(event)) setTimeout(() => stop.abort(), 200);
  }
}

async function untilHungUp(server: OpenAIServer): Promise<void> {
  while (server.hangUps === 0) await once(server, 'hang-up');
}
