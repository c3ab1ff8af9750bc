/** What agents do when the endpoint of the model is slow, busy, broken or gone, and when they are told to stop. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { fakeModel } from '@langchain/core/testing';
import { ChatOpenAI } from '@langchain/openai';
import { test } from 'vitest';
import { ErrorEvent, FunctionCallingAgent, OpenAILLM, type AgentEvent } from '../../../src/agent.ts';
import { OpenAIServer } from '../../support/openai-server.ts';
import { code, inSession, script, useHost } from './laboratory.ts';

const lab = useHost();

test('a busy or failing endpoint is asked again, as soon as it allows', async () => {
  const { llm, server } = await script([
    { status: 429, retryAfter: '0' },
    { status: 503, retryAfter: '0' },
    { text: 'At last.' },
  ]);
  const startedAt = performance.now();
  assert.equal(await new FunctionCallingAgent({ llm }).run('?'), 'At last.');
  assert.equal(server.requests.length, 3);
  assert.ok(performance.now() - startedAt < 5000);
});

test('a limit without a word on how long to wait is waited out too', async () => {
  const { llm } = await script([{ status: 429 }, { text: 'Ok.' }]);
  assert.equal(await new FunctionCallingAgent({ llm }).run('?'), 'Ok.');
});

test('an endpoint that stays busy is a failure with its status, told as event and thrown', async () => {
  const { llm } = await script(() => ({ status: 429, retryAfter: '0', message: 'slow down' }), { maxRetries: 1 });
  const events: AgentEvent[] = [];
  const watch = async (): Promise<void> => {
    for await (const event of new FunctionCallingAgent({ llm }).streamSteps('?')) events.push(event);
  };
  await assert.rejects(watch(), { code: 'LLM_FAILED', message: /status 429: .*slow down.*Wait/ });
  assert.equal(events.length, 1);
  assert.ok(events[0] instanceof ErrorEvent);
  assert.match(events[0].error, /status 429/);
});

test('a wrong key, a wrong model and a refused request say what to check', async () => {
  const advice: [number, RegExp][] = [
    [401, /status 401: .*Check the API key/],
    [404, /status 404: .*name of the model/],
    [400, /status 400: .*supports tools/],
  ];
  for (const [status, message] of advice) {
    const { llm, server } = await script([{ status }]);
    await assert.rejects(new FunctionCallingAgent({ llm }).run('?'), { code: 'LLM_FAILED', message });
    assert.equal(server.requests.length, 1);
  }
});

test('a connection that breaks in the middle of a reply is a failure, not an answer', async () => {
  const { llm } = await script([{ text: 'One two three.', breaksOff: true }]);
  const events: AgentEvent[] = [];
  const watch = async (): Promise<void> => {
    for await (const event of new FunctionCallingAgent({ llm }).streamSteps('?')) events.push(event);
  };
  await assert.rejects(watch(), { code: 'LLM_FAILED' });
  assert.ok(!events.some(({ type }) => type === 'final_answer'));
});

test('a model that does not stream works too, broken arguments included', async () => {
  const { server } = await script([
    { calls: [{ name: 'code_interpreter', arguments: '{"code": ' }] },
    code('print(2 + 3)'),
    { text: 'Five.' },
  ]);
  const configuration = { baseURL: server.url };
  const llm = new ChatOpenAI({ model: 'scripted', apiKey: 'none', disableStreaming: true, configuration });
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool] });
  const events = await Array.fromAsync(agent.streamSteps('?'));
  assert.deepEqual(
    events.map(({ type }) => type),
    ['action', 'observation', 'action', 'observation', 'token', 'final_answer'],
  );
  assert.match(agent.memory.steps[0]?.observation ?? '', /^Tool error: .*not a JSON object/);
  assert.match(agent.memory.steps[1]?.observation ?? '', /"stdout":"5\\n"/);
  assert.ok(server.requests.every(({ stream }) => stream !== true));
});

test('any chat model of LangChain will do', async () => {
  const call = { name: 'code_interpreter', args: { code: 'print("x" * 3)' }, id: 'c1', type: 'tool_call' as const };
  const llm = fakeModel().respondWithTools([call]).respond(new AIMessage('Three.'));
  const agent = new FunctionCallingAgent({ llm, tools: [lab.tool] });
  assert.equal(await agent.run('?'), 'Three.');
  assert.match(agent.memory.steps[0]?.observation ?? '', /"stdout":"xxx\\n"/);
});

test('an endpoint that is not there says so', async () => {
  const server = await OpenAIServer.start([]);
  const { environment } = server;
  await server[Symbol.asyncDispose]();
  const llm = new OpenAILLM({ maxRetries: 0 }, environment);
  await assert.rejects(new FunctionCallingAgent({ llm }).run('?'), {
    code: 'LLM_FAILED',
    message: /endpoint is running/,
  });
});

test('S-22 tokens come while the model still writes', async () => {
  const gate = Promise.withResolvers<void>();
  const { llm } = await script([{ text: 'One two three.', until: gate.promise }]);
  const said: string[] = [];
  for await (const event of new FunctionCallingAgent({ llm }).streamSteps('?')) {
    if (event.type !== 'token') continue;
    said.push(event.token);
    if (said.length === 2) gate.resolve(); // the last word is not sent before the second was seen
  }
  assert.deepEqual(said, ['One ', 'two ', 'three.']);
});

test('aborting hangs up on a model that still writes', async () => {
  const gate = Promise.withResolvers<void>();
  const { llm, server } = await script([{ text: 'One two three.', until: gate.promise }]);
  const stop = new AbortController();
  const watch = async (): Promise<void> => {
    for await (const event of new FunctionCallingAgent({ llm }).streamSteps('?', { signal: stop.signal })) {
      if (event.type === 'token') stop.abort();
    }
  };
  await assert.rejects(watch(), { name: 'AbortError' });
  await untilHungUp(server);
  gate.resolve();
});

test('breaking out of the loop hangs up too', async () => {
  const gate = Promise.withResolvers<void>();
  const { llm, server } = await script([{ text: 'One two three.', until: gate.promise }]);
  for await (const event of new FunctionCallingAgent({ llm }).streamSteps('?')) {
    if (event.type === 'token') break;
  }
  await untilHungUp(server);
  gate.resolve();
  assert.equal(server.hangUps, 1);
});

test('aborting does not wait for an endpoint that asks for patience', async () => {
  const { llm } = await script([{ status: 429, retryAfter: '50' }]);
  const signal = AbortSignal.timeout(500);
  const startedAt = performance.now();
  await assert.rejects(new FunctionCallingAgent({ llm }).run('?', { signal }), { name: 'TimeoutError' });
  assert.ok(performance.now() - startedAt < 10_000);
});

test('aborting stops the code that runs, and its variables stay', async () => {
  const { llm } = await script([
    inSession('x = 5'),
    inSession('while True: pass'),
    inSession('print(x)'),
    { text: '5' },
  ]);
  const agent = new FunctionCallingAgent({ llm, tools: [lab.python] });
  const stop = new AbortController();
  const watch = async (): Promise<void> => {
    for await (const event of agent.streamSteps('?', { signal: stop.signal })) {
      if (event.type === 'action' && event.code?.startsWith('while')) setTimeout(() => stop.abort(), 200);
    }
  };
  await assert.rejects(watch(), { name: 'AbortError' });
  assert.equal(await agent.run('and now?'), '5');
  assert.match(agent.memory.steps.at(-1)?.observation ?? '', /"stdout":"5\\n"/);
});

test('S-52 a model that cannot call tools is a clear error', async () => {
  class Mute extends BaseChatModel {
    override _llmType(): string {
      return 'mute';
    }

    override _generate(): Promise<ChatResult> {
      return Promise.resolve({ generations: [{ text: '', message: new AIMessage('') }] });
    }
  }
  const agent = new FunctionCallingAgent({ llm: new Mute({}), tools: [lab.tool] });
  await assert.rejects(agent.run('?'), { code: 'LLM_UNSUITABLE', message: /Mute cannot call tools.*Use ReActAgent/ });
});

async function untilHungUp(server: OpenAIServer): Promise<void> {
  while (server.hangUps === 0) await once(server, 'hang-up');
}
