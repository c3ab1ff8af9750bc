import type { CallContext, ToolDefinition } from '../../tool/tool.ts';
import type { RequestedCall } from '../protocol/protocol.ts';
import { fitForModel } from './model-text.ts';
import type { ToolRegistry } from './registry.ts';

export interface ToolboxOptions {
  /** Who calls, in words that the model neither sees nor chooses. */
  readonly context: CallContext;
  readonly maxToolContentLength: number;
  readonly toolTimeoutMs: number;
}

/** What came of a call: for programs, and for the model. */
export interface Seen {
  /** JSON of the payload, or a sentence when there is none. */
  readonly observation: string;
  readonly text: string;
  readonly isError: boolean;
}

/** The tools of one agent. Whatever goes wrong with a call is something that the model is told. */
export class Toolbox {
  readonly tools: ToolRegistry;
  readonly #options: ToolboxOptions;

  constructor(tools: ToolRegistry, options: ToolboxOptions) {
    this.tools = tools;
    this.#options = options;
  }

  /** Anew for each question: a definition tells what holds at the time. */
  definitions(): Promise<ToolDefinition[]> {
    return this.tools.definitions();
  }

  /** Throws only when it was told to stop. */
  async call({ name, args, problem }: RequestedCall, signal: AbortSignal | undefined): Promise<Seen> {
    const tool = this.tools.find(name);
    if (tool === undefined) return sentence(`Error: "${this.tools.notFound(name)}"`);
    if (problem !== undefined) return sentence(`Tool error: ${problem}`);
    const { context, toolTimeoutMs, maxToolContentLength } = this.#options;
    const deadline = AbortSignal.timeout(toolTimeoutMs);
    const stop = signal ? AbortSignal.any([signal, deadline]) : deadline;
    try {
      const { payload, text, isError } = await tool.call(args, { context, signal: stop });
      const shown = fitForModel(text, maxToolContentLength);
      const why = isError && deadline.aborted ? `\n[stopped: a call may take ${toolTimeoutMs} ms]` : '';
      return { observation: JSON.stringify(payload), text: shown + why, isError };
    } catch (error) {
      signal?.throwIfAborted();
      const said = error instanceof Error ? error.message : String(error);
      return sentence(fitForModel(`Tool error: ${said}`, maxToolContentLength));
    }
  }
}

function sentence(text: string): Seen {
  return { observation: text, text, isError: true };
}
