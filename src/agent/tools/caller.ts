import { keepAlive } from '../../process-life.ts';
import type { Json } from '../../execution/execution.ts';
import { shorten } from '../../text/excerpt.ts';
import { fitJson } from '../../text/fit-json.ts';
import type { CallContext, ToolDefinition } from '../../tool/tool.ts';
import type { RequestedCall } from '../protocol/protocol.ts';
import type { ToolRegistry } from './registry.ts';

export interface ToolCallerOptions {
  /** Who calls. The model neither sees nor chooses it. */
  readonly context: CallContext;
  readonly maxToolContentLength: number;
  readonly toolTimeoutMs: number;
}

/** The result of a call. */
export interface CallResult {
  /** For programs: the payload as JSON, or a sentence if there is none. */
  readonly observation: string;
  /** For the model. */
  readonly text: string;
  readonly isError: boolean;
}

/** Calls tools for a model. Errors of a call become results that the model sees. */
export class ToolCaller {
  readonly #tools: ToolRegistry;
  readonly #options: ToolCallerOptions;

  constructor(tools: ToolRegistry, options: ToolCallerOptions) {
    this.#tools = tools;
    this.#options = options;
  }

  /** Ask again for each question: definitions describe the current state. */
  definitions(): Promise<ToolDefinition[]> {
    return this.#tools.definitions();
  }

  /** Throws only when `signal` is aborted. */
  async call({ name, args, problem }: RequestedCall, signal: AbortSignal | undefined): Promise<CallResult> {
    const tool = this.#tools.find(name);
    if (tool === undefined) return failed(`Error: "${this.#tools.notFound(name)}"`);
    if (problem !== undefined) return failed(`Tool error: ${problem}`);
    const { context, toolTimeoutMs, maxToolContentLength } = this.#options;
    const deadline = AbortSignal.timeout(toolTimeoutMs);
    const stop = signal ? AbortSignal.any([signal, deadline]) : deadline;
    try {
      const calling = keepAlive(tool.call(args, { context, signal: stop })); // the deadline alone would not
      const { payload, text, isError } = await calling;
      const shown = fitForModel(text, maxToolContentLength);
      const why = isError && deadline.aborted ? `\n[stopped: a call may take ${toolTimeoutMs} ms]` : '';
      return { observation: JSON.stringify(payload), text: shown + why, isError };
    } catch (error) {
      signal?.throwIfAborted();
      const message = error instanceof Error ? error.message : String(error);
      return failed(fitForModel(`Tool error: ${message}`, maxToolContentLength));
    }
  }
}

function failed(text: string): CallResult {
  return { observation: text, text, isError: true };
}

/** Removes the fields that a tool hides from models, and shortens the rest. JSON stays JSON. */
export function fitForModel(text: string, maxChars: number): string {
  const shown = withoutHidden(text);
  if (shown.length <= maxChars) return shown;
  const object = parseObject(shown);
  return object === undefined ? shorten(shown, maxChars) : fitJson(object, maxChars);
}

/** Removes from a JSON object the keys that its `hidden_to_model` lists, and that list itself. */
function withoutHidden(text: string): string {
  if (!text.includes('"hidden_to_model"')) return text;
  const answer = parseObject(text);
  const hidden = answer?.['hidden_to_model'];
  if (answer === undefined || !Array.isArray(hidden)) return text;
  const names = new Set<unknown>([...(hidden as unknown[]), 'hidden_to_model']);
  return JSON.stringify(Object.fromEntries(Object.entries(answer).filter(([name]) => !names.has(name))));
}

function parseObject(text: string): Record<string, Json> | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Record<string, Json>; // what begins so and can be parsed is an object
  } catch {
    return undefined; // plain text has no keys
  }
}
