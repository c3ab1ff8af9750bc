/** How answers look on the wire: one JSON document, or server-sent events in small pieces. */
import type { ServerResponse } from 'node:http';
import type { Call, ChatRequest, Reply } from './openai-server.ts';

type Completion = Exclude<Reply, { status: number }>;
type Failure = Extract<Reply, { status: number }>;

const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

export function sendFailure(response: ServerResponse, { status, message, retryAfter }: Failure): void {
  if (response.headersSent) return void response.destroy();
  const error = { message: message ?? `status ${status}`, type: 'scripted', param: null, code: null };
  response.writeHead(status, { 'content-type': 'application/json', ...(retryAfter && { 'retry-after': retryAfter }) });
  response.end(JSON.stringify({ error }));
}

export async function sendCompletion(response: ServerResponse, request: ChatRequest, reply: Completion): Promise<void> {
  await reply.until;
  const message = {
    role: 'assistant',
    content: reply.text ?? null,
    ...(reply.calls && { tool_calls: reply.calls.map(toWire) }),
  };
  response.writeHead(200, { 'content-type': 'application/json' });
  const choices = [{ index: 0, message, finish_reason: finishOf(reply) }];
  response.end(JSON.stringify({ ...envelope(request, 'chat.completion'), choices, usage: USAGE }));
}

export async function streamCompletion(
  response: ServerResponse,
  request: ChatRequest,
  reply: Completion,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const send = (part: object): void => {
    response.write(`data: ${JSON.stringify({ ...envelope(request, 'chat.completion.chunk'), ...part })}\n\n`);
  };
  const pieces = deltas(reply);
  send({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] });
  for (const [index, delta] of pieces.entries()) {
    if (index === pieces.length - 1) await reply.until;
    if (index === pieces.length - 1 && reply.breaksOff) return void response.destroy();
    send({ choices: [{ index: 0, delta, finish_reason: null }] });
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: finishOf(reply) }] });
  if ('stream_options' in request) send({ choices: [], usage: USAGE });
  response.end('data: [DONE]\n\n');
}

/** Words one by one, then each call's name, then its arguments in pieces: as models write. */
function deltas({ text = '', calls = [] }: Completion): object[] {
  const words = text.match(/\S+\s*|\s+/gu) ?? [];
  const parts = calls.map(toWire).flatMap(({ id, type, function: { name, arguments: args } }, index) => [
    { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
    ...(args.match(/[^]{1,40}/gu) ?? []).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    })),
  ]);
  return [...words.map((content) => ({ content })), ...parts];
}

function toWire({ name, arguments: args, id }: Call, index: number) {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  return { id: id ?? `call_${index}`, type: 'function', function: { name, arguments: text } };
}

function finishOf({ finish, calls }: Completion): string {
  return finish ?? (calls ? 'tool_calls' : 'stop');
}

/** LangGraph takes an answer with the id of an earlier one for a correction of it. */
function envelope({ model, messages }: ChatRequest, object: string) {
  return { id: `chatcmpl-${messages.length}`, object, created: 0, model };
}
