import { AIMessage, ToolMessage } from '@langchain/core/messages';
import { expect, test } from 'vitest';
import type { CallOptions, Observation, Tool, ToolDefinition } from '../tool.ts';
import { toAiSdkTool } from './ai-sdk.ts';
import { toAnthropicResult, toAnthropicTool } from './anthropic.ts';
import { toLangChainTool } from './langchain.ts';
import { toMcpResult, toMcpTool } from './mcp.ts';
import { toOpenAIMessage, toOpenAIResponsesOutput, toOpenAIResponsesTool, toOpenAITool } from './openai.ts';

const DEFINITION: ToolDefinition = {
  name: 'add',
  description: 'Adds.',
  parameters: {
    type: 'object',
    properties: { a: { type: 'number', description: 'one' }, b: { type: 'number', description: 'other' } },
    required: ['a'],
  },
};

/** A tool that records how it is called. */
function recorder(answer: Partial<Observation> = {}): Tool & { readonly calls: [unknown, CallOptions?][] } {
  const calls: [unknown, CallOptions?][] = [];
  return {
    name: 'add',
    calls,
    define: () => Promise.resolve(DEFINITION),
    call: (args, options) => {
      calls.push([args, ...(options ? [options] : [])] as [unknown, CallOptions?]);
      return Promise.resolve({ text: 'three', payload: { sum: 3 }, isError: false, ...answer });
    },
  };
}

test('S-40 each format has the same name, text and schema, under its own keys', () => {
  const { name, description, parameters } = DEFINITION;
  expect(toOpenAITool(DEFINITION)).toEqual({ type: 'function', function: DEFINITION });
  expect(toAnthropicTool(DEFINITION)).toEqual({ name, description, input_schema: parameters });
  expect(toMcpTool(DEFINITION)).toEqual({ name, description, inputSchema: parameters });
  const responses = { type: 'function', name, description, parameters, strict: false };
  expect(toOpenAIResponsesTool(DEFINITION)).toEqual(responses);
});

test('additional fields of a tool stay out of the formats', () => {
  const more = { ...DEFINITION, secret: 1 };
  expect(JSON.stringify([toOpenAITool(more), toAnthropicTool(more), toMcpTool(more)])).not.toContain('secret');
});

test.for([
  [true, true, { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true }],
  [true, false, { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }],
  [false, true, { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }],
  [false, false, { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false }],
] as const)(
  'MCP hints of a tool that is read-only: %s, and uses the network: %s',
  ([isReadOnly, usesNetwork, hints]) => {
    expect(toMcpTool(DEFINITION, { isReadOnly, usesNetwork }).annotations).toEqual(hints);
  },
);

const PICTURE = { mimeType: 'image/png', data: 'AAAA' } as const;
const SEEN: Observation = { text: 'a plot', payload: null, isError: false, images: [PICTURE] };
const FAILED: Observation = { ...SEEN, isError: true };

test('OpenAI gets pictures in the Responses API, and text alone in chat completions', () => {
  expect(toOpenAIMessage('c1', SEEN)).toEqual({ role: 'tool', tool_call_id: 'c1', content: 'a plot' });
  expect(toOpenAIResponsesOutput('c1', { ...SEEN, images: [] }).output).toBe('a plot');
  expect(toOpenAIResponsesOutput('c1', SEEN)).toEqual({
    type: 'function_call_output',
    call_id: 'c1',
    output: [
      { type: 'input_text', text: 'a plot' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
    ],
  });
});

test('Anthropic gets pictures in a result, but none in a failed one, which it would refuse', () => {
  const text = { type: 'text', text: 'a plot' };
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
  const result = { type: 'tool_result', tool_use_id: 'c1' };
  expect(toAnthropicResult('c1', SEEN)).toEqual({ ...result, content: [text, image], is_error: false });
  expect(toAnthropicResult('c1', FAILED)).toEqual({ ...result, content: [text], is_error: true });
  expect(toAnthropicResult('c1', { ...SEEN, text: '' }).content).toEqual([image]);
});

test('an MCP client gets text, pictures and whether the call failed', () => {
  const content = [
    { type: 'text', text: 'a plot' },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  ];
  expect(toMcpResult(SEEN)).toEqual({ content, isError: false });
  expect(toMcpResult(FAILED)).toEqual({ content, isError: true });
});

test('the AI SDK passes on context and signal, and gets text, pictures and failures', async () => {
  const tool = recorder({ images: [PICTURE] });
  const { signal } = new AbortController();
  const form = await toAiSdkTool(tool, { clientId: 'c' });
  const output = await form.execute({ a: 1 }, { abortSignal: signal });
  expect(output).toEqual({ text: 'three', isError: false, images: [PICTURE] });
  await form.execute({ a: 2 });
  expect(tool.calls).toEqual([
    [{ a: 1 }, { context: { clientId: 'c' }, signal }],
    [{ a: 2 }, { context: { clientId: 'c' } }],
  ]);
  expect(form.toModelOutput({ output })).toEqual({
    type: 'content',
    value: [
      { type: 'text', text: 'three' },
      { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
    ],
  });
  expect(form.toModelOutput({ output: { text: 'three', isError: false } })).toEqual({ type: 'text', value: 'three' });
  expect(form.toModelOutput({ output: FAILED })).toEqual({ type: 'error-text', value: 'a plot' });
});

test('the AI SDK reads the schema, and lets the tool itself judge the arguments', async () => {
  const { inputSchema, description } = await toAiSdkTool(recorder());
  const { jsonSchema, validate } = inputSchema['~standard'];
  expect(description).toBe('Adds.');
  expect(jsonSchema.input()).toEqual(DEFINITION.parameters);
  expect(validate({ a: 'wrong' })).toEqual({ value: { a: 'wrong' } });
  for (const wrong of [null, [], 'a']) expect(validate(wrong)).toHaveProperty('issues');
});

test('a LangChain tool has pictures in its content only if that was asked for', async () => {
  const call = { type: 'tool_call', id: 'id1', name: 'add', args: { a: 1 } } as const;
  const shown = await toLangChainTool(recorder({ images: [PICTURE] }), { pictures: true });
  const plain = await toLangChainTool(recorder({ images: [PICTURE] }));
  expect(((await shown.invoke(call)) as ToolMessage).content).toEqual([
    { type: 'text', text: 'three' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  ]);
  expect(((await plain.invoke(call)) as ToolMessage).content).toBe('three');
});

test('a LangChain tool has a schema of its own, so that changing it does not change the definition', async () => {
  const tool = await toLangChainTool(recorder());
  expect([tool.name, tool.description]).toEqual(['add', 'Adds.']);
  expect(tool.schema).toEqual(DEFINITION.parameters);
  expect(tool.schema).not.toBe(DEFINITION.parameters);
});

test('a LangChain thread is the chat of the call, unless a context is given', async () => {
  const tool = recorder();
  const [free, bound] = [await toLangChainTool(tool), await toLangChainTool(tool, { context: { clientId: 'c' } })];
  await free.invoke({ a: 1 }, { configurable: { thread_id: 't' } });
  await free.invoke({ a: 1 }, { configurable: { thread_id: '' } });
  await free.invoke({ a: 1 }, { configurable: { thread_id: 5 } });
  await bound.invoke({ a: 1 }, { configurable: { thread_id: 't' } });
  expect(tool.calls.map(([, options]) => options?.context)).toEqual([{ chatId: 't' }, {}, {}, { clientId: 'c' }]);
});

test('a failed call is an error message for a model, and text for a program', async () => {
  const tool = await toLangChainTool(recorder({ isError: true }));
  const call = { type: 'tool_call', id: 'id1', name: 'add', args: { a: 1 } } as const;
  const message = (await tool.invoke(call)) as ToolMessage;
  expect(message).toBeInstanceOf(ToolMessage);
  expect([message.status, message.text, message.artifact, message.tool_call_id]).toEqual([
    'error',
    'three',
    { sum: 3 },
    'id1',
  ]);
  expect(await tool.invoke({ a: 1 })).toBe('three');
});

test('a successful call has the payload as its artifact', async () => {
  const tool = await toLangChainTool(recorder());
  const reply = new AIMessage({ content: '', tool_calls: [{ id: 'id1', name: 'add', args: { a: 1 } }] });
  const message = (await tool.invoke({ type: 'tool_call', ...reply.tool_calls?.[0] } as never)) as ToolMessage;
  expect([message.status, message.text, message.artifact]).toEqual(['success', 'three', { sum: 3 }]);
});

test('a call that was aborted throws, even if the tool has answered', async () => {
  const controller = new AbortController();
  const tool = await toLangChainTool({
    ...recorder(),
    call: () => {
      controller.abort(new Error('stop it'));
      return Promise.resolve({ text: 'late', payload: null, isError: false });
    },
  });
  await expect(tool.invoke({ a: 1 }, { signal: controller.signal })).rejects.toThrow('stop it');
});
