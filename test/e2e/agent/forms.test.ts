/** A tool in the hands of others: their schemas, and LangChain's own machinery. */
import assert from 'node:assert/strict';
import { AIMessage, type ToolMessage } from '@langchain/core/messages';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { test } from 'vitest';
import { toAiSdkTool, toAnthropicTool, toLangChainTool, toMcpTool, toOpenAITool } from '../../../src/tools.ts';
import { code, printedIn, script, useHost } from './laboratory.ts';

const lab = useHost();

const PARAMETERS = {
  type: 'object',
  properties: { code: { type: 'string', description: 'Python code to execute in the sandboxed interpreter' } },
  required: ['code'],
};

test('S-40 U-24 one definition has the forms of OpenAI, Anthropic and MCP', async () => {
  const definition = await lab.tool.define();
  const { name, description } = definition;
  assert.deepEqual(toOpenAITool(definition), {
    type: 'function',
    function: { name, description, parameters: PARAMETERS },
  });
  assert.deepEqual(toAnthropicTool(definition), { name, description, input_schema: PARAMETERS });
  assert.deepEqual(toMcpTool(definition), { name, description, inputSchema: PARAMETERS });
});

test('MCP is told what a tool may do, where that is known', async () => {
  const definition = await lab.tool.define();
  assert.deepEqual(toMcpTool(definition, { isReadOnly: false, usesNetwork: true }).annotations, {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: true,
  });
  assert.deepEqual(toMcpTool(definition, { isReadOnly: true, usesNetwork: false }).annotations, {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  });
});

test('a LangChain tool is bound to a model and run by a ToolNode', async () => {
  const tool = await toLangChainTool(lab.tool, { context: { clientId: 'forms' } });
  const { llm, server } = await script([code('print(40 + 2)')]);
  const reply = await llm.bindTools?.([tool]).invoke('What is 40 + 2?');
  assert.deepEqual(server.requests[0]?.tools?.[0]?.function.parameters, PARAMETERS);
  const { messages } = (await new ToolNode([tool]).invoke({ messages: [reply] })) as { messages: ToolMessage[] };
  assert.equal(printedIn(messages[0]?.text), '42\n');
  assert.equal(messages[0]?.status, 'success');
  const artifact: unknown = messages[0]?.artifact;
  assert.equal((artifact as { stdout: string }).stdout, '42\n');
});

test('a program that raises is a ToolMessage that says so, with the traceback', async () => {
  const tool = await toLangChainTool(lab.tool, { context: { clientId: 'forms' } });
  const call = { id: 'c1', name: tool.name, args: { code: '1/0' }, type: 'tool_call' as const };
  const { messages } = (await new ToolNode([tool]).invoke({
    messages: [new AIMessage({ content: '', tool_calls: [call] })],
  })) as { messages: ToolMessage[] };
  assert.equal(messages[0]?.status, 'error');
  assert.equal(messages[0]?.tool_call_id, 'c1');
  assert.match(messages[0]?.text ?? '', /ZeroDivisionError/);
});

test('threads of LangGraph have interpreters of their own, and plain calls get the text', async () => {
  const tool = await toLangChainTool(lab.python);
  const inThread = (thread_id: string) => ({ configurable: { thread_id } });
  await tool.invoke({ code: 'y = 1' }, inThread('a'));
  assert.match(String(await tool.invoke({ code: 'print("y" in globals())' }, inThread('b'))), /^False$/m);
  assert.match(String(await tool.invoke({ code: 'print(y)' }, inThread('a'))), /^1$/m);
  assert.match(String(await tool.invoke({ code: '1/0' }, inThread('a'))), /ZeroDivisionError/);
});

test('aborting a LangChain call stops the code', async () => {
  const tool = await toLangChainTool(lab.python, { context: { clientId: 'abort' } });
  const call = tool.invoke({ code: 'while True: pass' }, { signal: AbortSignal.timeout(300) });
  await assert.rejects(call);
  assert.match(String(await tool.invoke({ code: 'print("free")' })), /^free$/m);
});

test('the Vercel AI SDK gets a description, a JSON schema and something to execute', async () => {
  const form = await toAiSdkTool(lab.tool, { clientId: 'vercel' });
  assert.deepEqual(form.inputSchema['~standard'].jsonSchema.input(), PARAMETERS);
  assert.match(form.description, /Python 3/);
  const { text } = await form.execute({ code: 'print(5)' }, { abortSignal: new AbortController().signal });
  assert.equal(printedIn(text), '5\n');
  const failed = await form.execute({ code: '1/0' });
  assert.match(failed.text, /ZeroDivisionError/);
  assert.equal(failed.isError, true);
});
