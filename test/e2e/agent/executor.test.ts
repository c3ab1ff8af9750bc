/** The other ways to make an agent, and to give it tools. */
import assert from 'node:assert/strict';
import { onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import {
  agent,
  AgentExecutor,
  AgentMemory,
  AgentStep,
  CodeInterpreterTool,
  FunctionCallingAgent,
  PythonREPLTool,
  SimpleAgent,
  tool,
  ToolRegistry,
} from '../../../src/agent.ts';
import * as toolsFace from '../../../src/tools.ts';
import { toolResults, type ChatRequest, type OpenAIServer } from '../../support/openai-server.ts';
import { code, script, useHost } from './laboratory.ts';

const lab = useHost();

const multiply = tool({
  name: 'multiply',
  description: 'Multiplies two numbers.',
  parameters: z.object({ a: z.number().describe('The first'), b: z.number().default(2) }),
  run: ({ a, b }) => a * b,
});

function useEnvironment({ environment }: OpenAIServer): void {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

function namesIn({ tools = [] }: Pick<ChatRequest, 'tools'>): string[] {
  return tools.map(({ function: { name } }) => name);
}

test('S-53 AgentExecutor is an agent of the type that its configuration names', async () => {
  const native = await script([code('print(6 * 7)'), { text: 'It is 42.' }]);
  const calling = new AgentExecutor({ llm: native.llm, tools: [lab.tool], agent_type: 'function_calling' });
  assert.equal(await calling.run('?'), 'It is 42.');
  assert.match(calling.memory.steps[0]?.observation ?? '', /"stdout":"42\\n"/);
  assert.deepEqual(namesIn(native.server.requests[0] ?? assert.fail()), ['code_interpreter']);

  const written = await script([
    { text: 'Action: code_interpreter\nAction Input: print(6 * 7)' },
    { text: 'Final Answer: It is 42.' },
  ]);
  const config = { llm: written.llm, tools: [lab.tool], system_prompt: 'Be brief.', max_iterations: 3 };
  const writing = new AgentExecutor(config);
  const types = (await Array.fromAsync(writing.stream_steps('?'))).map(({ type }) => type);
  assert.deepEqual(types.slice(0, 2), ['action', 'observation']);
  assert.equal(types.at(-1), 'final_answer');
  assert.equal(writing.config, config);
  assert.equal(written.server.requests[0]?.tools, undefined);
});

test('S-53 a configuration that names no such type, or names it twice, is refused', async () => {
  const { llm } = await script([]);
  for (const options of [{ agent_type: 'plan' }, { agentType: 'react', agent_type: 'react' }, { agenttype: 'react' }]) {
    assert.throws(() => new AgentExecutor({ llm, ...(options as object) }), { code: 'CONFIG_INVALID' });
  }
});

test('S-53 agent() answers with the model that the environment names', async () => {
  const { server } = await script([{ text: 'Hello.' }, { text: 'Hello again.' }]);
  const simple = agent({ tools: [multiply], system_prompt: 'Be brief.' });
  const named = new SimpleAgent({ model: 'other' });
  useEnvironment(server); // after they are made: nothing is connected to before the first question
  assert.ok(simple instanceof SimpleAgent && simple instanceof FunctionCallingAgent);
  assert.equal(await simple.run('Hi'), 'Hello.');
  assert.equal(server.requests[0]?.model, 'scripted');
  assert.deepEqual(namesIn(server.requests[0]), ['multiply']);
  assert.equal(await named.run('Hi'), 'Hello again.');
  assert.equal(server.requests[1]?.model, 'other');
});

test('S-53 L-46 a function is a tool: schema and words from its parameters, arguments checked before it is called', async () => {
  assert.deepEqual((await multiply.define()).parameters, {
    type: 'object',
    properties: { a: { type: 'number', description: 'The first' }, b: { type: 'number', default: 2 } },
    required: ['a'],
  });
  assert.deepEqual(await multiply.call({ a: 21 }), { text: '42', payload: 42, isError: false });
  const refused = await multiply.call({ a: 'x' });
  assert.equal(refused.isError, true);
  assert.match(refused.text, /The arguments are invalid: .*expected number[^]*at a/);
});

test('L-46 what a function returns is text or JSON, and what it throws is told to the model', async () => {
  const make = (run: () => unknown) => tool({ name: 'f', description: '', parameters: z.object({}), run });
  assert.deepEqual(await make(() => 'plain').call({}), { text: 'plain', payload: 'plain', isError: false });
  const rows = await make(() => Promise.resolve({ rows: [1, 2], none: undefined })).call({});
  assert.deepEqual(rows, { text: '{"rows":[1,2]}', payload: { rows: [1, 2] }, isError: false });
  assert.equal((await make(() => undefined).call({})).text, 'null');

  const { llm, server } = await script([{ calls: [{ name: 'f', arguments: {} }] }, { text: 'Sorry.' }]);
  const failing = make(() => {
    throw new Error('no such table');
  });
  await new FunctionCallingAgent({ llm, tools: [failing] }).run('?');
  assert.deepEqual(toolResults(server.requests[1] ?? assert.fail()), ['Tool error: no such table']);
});

test('L-46 a function that takes long hears that the agent was told to stop', async () => {
  const { llm } = await script([{ calls: [{ name: 'wait', arguments: {} }] }]);
  const stop = new AbortController();
  const waiting = tool({
    name: 'wait',
    description: '',
    parameters: z.object({}),
    run: (_, { signal }) => {
      setTimeout(() => stop.abort(), 50);
      return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('heard'))));
    },
  });
  const asked = new FunctionCallingAgent({ llm, tools: [waiting] }).run('?', { signal: stop.signal });
  await assert.rejects(asked, { name: 'AbortError' });
});

test('S-53 a registry has tools by name, and gives their schemas', async () => {
  const registry = new ToolRegistry([lab.tool]);
  registry.register(multiply);
  assert.equal(registry.get('multiply'), multiply);
  assert.deepEqual(
    registry.list().map(({ name }) => name),
    ['code_interpreter', 'multiply'],
  );
  assert.deepEqual(
    (await registry.schemas()).map(({ type, function: { name } }) => `${type} ${name}`),
    ['function code_interpreter', 'function multiply'],
  );
  assert.throws(() => registry.get('bash'), {
    code: 'USAGE',
    message: "Tool 'bash' not found. Available: ['code_interpreter', 'multiply']",
  });
  assert.throws(() => registry.register(multiply), { code: 'CONFIG_INVALID', message: /two tools named 'multiply'/ });
});

test('S-53 what is added to a registry, its agents know from the next question on', async () => {
  const { llm, server } = await script([{ text: 'a' }, { text: 'b' }]);
  const tools = new ToolRegistry();
  const asked = new FunctionCallingAgent({ llm, tools });
  await asked.run('first');
  tools.register(multiply);
  await asked.run('second');
  assert.deepEqual(server.requests.map(namesIn), [[], ['multiply']]);
});

test('U-24 L-07 a tool that is disabled is hidden from the model and refused, in both ways of speaking', async () => {
  const state = { isEnabled: false };
  const { python } = lab;
  const switched = {
    name: python.name,
    define: () => python.define(),
    call: python.call.bind(python),
    get isEnabled() {
      return state.isEnabled;
    },
  };
  const tools = [multiply, switched];
  const native = await script([
    { calls: [{ name: 'run_python_code', arguments: { code: 'print(1)' } }] },
    { text: 'Refused.' },
    { text: 'Now it is there.' },
  ]);
  const asked = new FunctionCallingAgent({ llm: native.llm, tools });
  await asked.run('?');
  const refusal = `Error: "Tool 'run_python_code' not found. Available: ['multiply']"`;
  assert.equal(asked.memory.steps[0]?.observation, refusal);

  const written = await script([
    { text: 'Action: run_python_code\nAction Input: print(1)' },
    { text: 'Final Answer: Refused.' },
  ]);
  const writing = new AgentExecutor({ llm: written.llm, tools });
  await writing.run('?');
  assert.equal(writing.memory.steps[0]?.observation, refusal);
  assert.doesNotMatch(written.server.requests[0]?.messages[0]?.content ?? '', /run_python_code/);

  state.isEnabled = true;
  await asked.run('?');
  assert.deepEqual(native.server.requests.map(namesIn), [['multiply'], ['multiply'], ['multiply', 'run_python_code']]);
});

test('S-50 a scratchpad can be made and filled, under the names of examples written for Python', () => {
  const scratchpad = new AgentMemory(1);
  scratchpad.add_step(new AgentStep({ thought: 'I add', action: 'code', action_input: '1 + 1', observation: '2' }));
  assert.equal(scratchpad.is_full, true);
  assert.equal(scratchpad.length, 1);
  assert.equal(String(scratchpad.steps[0]?.action_input), '1 + 1');
  assert.equal(
    scratchpad.format_scratchpad(),
    'Thought: I add\nAction: code\nAction Input: {"input":"1 + 1"}\nObservation: 2',
  );
  scratchpad.clear();
  assert.equal(scratchpad.length, 0);
  assert.throws(() => new AgentMemory(0), { code: 'CONFIG_INVALID' });
});

test('X-08 the tools of the examples come from the module of the agent, too', () => {
  assert.equal(CodeInterpreterTool, toolsFace.CodeInterpreterTool);
  assert.equal(PythonREPLTool, toolsFace.PythonREPLTool);
});
