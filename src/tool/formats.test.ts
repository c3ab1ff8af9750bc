import { AIMessage, ToolMessage } from '@langchain/core/messages';
import { expect, test } from 'vitest';
import { toAiSdkTool, toAnthropicTool, toLangChainTool, toMcpTool, toOpenAITool } from './formats.ts';
import type { CallOptions, Observation, Tool, ToolDefinition } from './tool.ts';

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

test('the Vercel AI SDK gets the text, and passes on context and signal', async () => {
  const tool = recorder();
  const { signal } = new AbortController();
  const form = await toAiSdkTool(tool, { clientId: 'c' });
  expect({ ...form, execute: null }).toEqual({
    description: 'Adds.',
    inputSchema: DEFINITION.parameters,
    execute: null,
  });
  expect(await form.execute({ a: 1 }, { abortSignal: signal })).toBe('three');
  expect(await form.execute({ a: 2 })).toBe('three');
  expect(tool.calls).toEqual([
    [{ a: 1 }, { context: { clientId: 'c' }, signal }],
    [{ a: 2 }, { context: { clientId: 'c' } }],
  ]);
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
