import assert from 'node:assert/strict';
import { AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { RunnableLambda } from '@langchain/core/runnables';
import { test } from 'vitest';
import { streamReply, type NativeReply } from './native-reply.ts';
import type { ReadyModel } from './stream.ts';

/** A model that writes these pieces. */
function model(...pieces: ConstructorParameters<typeof AIMessageChunk>[0][]): ReadyModel {
  const write = async function* () {
    await Promise.resolve();
    for (const fields of pieces) yield new AIMessageChunk(fields);
  };
  return RunnableLambda.from(write) as unknown as ReadyModel;
}

function piece(part: { index?: number; id?: string; name?: string; args?: string }) {
  return { content: '', tool_call_chunks: [{ type: 'tool_call_chunk' as const, ...part }] };
}

async function read(from: ReadyModel): Promise<NativeReply> {
  const stream = streamReply(from, [new HumanMessage('?')], undefined);
  for (;;) {
    const next = await stream.next();
    if (next.done) return next.value;
  }
}

test('calls that come in pieces are put together, in order', async () => {
  const { calls, text } = await read(
    model(
      { content: 'I ' },
      { content: 'run.' },
      piece({ index: 0, id: 'a', name: 'run', args: '' }),
      piece({ index: 0, args: '{"code":' }),
      piece({ index: 1, id: 'b', name: 'list', args: '' }),
      piece({ index: 0, args: ' "1"}' }),
    ),
  );
  assert.equal(text, 'I run.');
  assert.deepEqual(calls, [
    { id: 'a', name: 'run', args: { code: '1' } },
    { id: 'b', name: 'list', args: {} },
  ]);
});

test('calls with one index and different ids are different calls', async () => {
  const { calls, message } = await read(
    model(
      piece({ index: 0, id: 'a', name: 'run', args: '{"code": "1"' }),
      piece({ index: 0, args: '}' }),
      piece({ index: 0, id: 'b', name: 'run', args: '{"code": "2"' }),
      piece({ index: 0, args: '}' }),
    ),
  );
  assert.deepEqual(
    calls.map(({ args }) => args),
    [{ code: '1' }, { code: '2' }],
  );
  assert.deepEqual(
    message.tool_calls?.map(({ id, args }) => ({ id, args })),
    [
      { id: 'a', args: { code: '1' } },
      { id: 'b', args: { code: '2' } },
    ],
  );
});

test('code that breaks off is not run, though LangChain would complete it', async () => {
  const { calls, message } = await read(
    model(piece({ index: 0, id: 'a', name: 'run', args: '{"code": "rm(' }), {
      content: '',
      response_metadata: { finish_reason: 'length' },
    }),
  );
  assert.match(calls[0]?.problem ?? '', /'run' cannot be used: the reply was cut off/);
  assert.deepEqual(message.tool_calls?.[0]?.args, { invalid_arguments: '{"code": "rm(' });
});

test('arguments that are JSON but no object cannot be used', async () => {
  for (const args of ['[1]', '"code"', 'null', '12', 'print(1)']) {
    const { calls } = await read(model(piece({ index: 0, id: 'a', name: 'run', args })));
    assert.match(calls[0]?.problem ?? '', /not a JSON object/, args);
  }
});

test('a call without an id gets one, in the conversation too', async () => {
  const { calls, message } = await read(model(piece({ index: 0, name: 'run', args: '{"code": "1"}' })));
  assert.equal(calls[0]?.id, 'call_0');
  assert.equal(message.tool_calls?.[0]?.id, 'call_0');
});

test('a reply without any piece is a failure of the model', async () => {
  await assert.rejects(read(model()), { code: 'LLM_FAILED' });
});
