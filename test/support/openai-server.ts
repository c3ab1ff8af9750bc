/** A model that follows a script, behind the chat completions protocol of OpenAI: real HTTP, tool calls, streams, failures. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { sendCompletion, sendFailure, streamCompletion } from './openai-wire.ts';

/** What the model was sent. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean;
  readonly tools?: readonly {
    readonly function: { readonly name: string; readonly description: string; readonly parameters: unknown };
  }[];
  readonly [option: string]: unknown;
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string | null;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** What the model answers with. */
export type Reply =
  | {
      readonly text?: string;
      readonly calls?: readonly Call[];
      /** Why it ended; by itself `tool_calls` or `stop`. */
      readonly finish?: string;
      /** Kept waiting for before the last piece of a stream, or before the answer. */
      readonly until?: Promise<unknown>;
      /** The connection breaks before the last piece of a stream. */
      readonly breaksOff?: boolean;
    }
  | { readonly status: number; readonly message?: string; readonly retryAfter?: string };

export interface Call {
  readonly name: string;
  /** Sent as they are when they are a string: a model may well write nonsense. */
  readonly arguments: string | Readonly<Record<string, unknown>>;
  readonly id?: string;
}

/** Decides on an answer; `turn` counts requests from 0. */
export type Script = (request: ChatRequest, turn: number) => Reply | Promise<Reply>;

/** Emits `hang-up` when a client leaves in the middle of an answer. */
export class OpenAIServer extends EventEmitter implements AsyncDisposable {
  /** All that was sent, in order; failed requests too. */
  readonly requests: ChatRequest[] = [];
  /** The key that came with the last request. */
  authorization: string | undefined;
  /** How many clients hung up in the middle of an answer. */
  hangUps = 0;
  readonly #script: Script;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  private constructor(script: Script) {
    super();
    this.#script = script;
  }

  static async start(script: Script | readonly Reply[]): Promise<OpenAIServer> {
    const server = new OpenAIServer(typeof script === 'function' ? script : inOrder(script));
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  /** What clients call the base URL. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/v1`;
  }

  /** The variables that lead `defaultModel` here. */
  get environment(): Record<string, string> {
    return { VIVARIUM_LLM_BASE_URL: this.url, VIVARIUM_LLM_API_KEY: 'test-key', VIVARIUM_LLM_MODEL: 'scripted' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('close', () => {
      if (response.writableFinished) return;
      this.hangUps += 1;
      this.emit('hang-up');
    });
    this.authorization = incoming.headers.authorization;
    if (incoming.method !== 'POST' || incoming.url !== '/v1/chat/completions') {
      return sendFailure(response, { status: 404, message: `nothing at ${incoming.method} ${incoming.url}` });
    }
    const request = JSON.parse(await text(incoming)) as ChatRequest;
    const turn = this.requests.push(request) - 1;
    try {
      const reply = await this.#script(request, turn);
      if ('status' in reply) sendFailure(response, reply);
      else if (request.stream) await streamCompletion(response, request, reply);
      else await sendCompletion(response, request, reply);
    } catch (error) {
      // The test sees it as what the client says; a script may assert what the model is shown.
      sendFailure(response, { status: 400, message: `the script failed: ${String(error)}` });
    }
  }
}

/** One reply after the other, whatever is asked. */
function inOrder(replies: readonly Reply[]): Script {
  return (_, turn) => replies[turn] ?? { status: 400, message: `the script has only ${replies.length} replies` };
}

/** What the tools answered since the last question, in order. */
export function toolResults({ messages }: ChatRequest): string[] {
  const since = messages.findLastIndex(({ role }) => role === 'user');
  return messages.slice(since).flatMap(({ role, content }) => (role === 'tool' ? [content ?? ''] : []));
}

/** What was asked last. */
export function question({ messages }: ChatRequest): string {
  return messages.findLast(({ role }) => role === 'user')?.content ?? '';
}
