import { VivariumError } from '../errors.ts';
import type { CallContext, Tool, ToolDefinition } from '../tool/tool.ts';
import { fitForModel } from './model-text.ts';
import type { RequestedCall } from './reply.ts';

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
  readonly #tools = new Map<string, Tool>();
  readonly #options: ToolboxOptions;

  constructor(tools: readonly Tool[], options: ToolboxOptions) {
    this.#options = options;
    for (const tool of tools) this.add(tool);
  }

  add(tool: Tool): void {
    if (this.#tools.has(tool.name)) {
      throw new VivariumError('CONFIG_INVALID', `There are two tools named '${tool.name}'. Give each its own name.`);
    }
    this.#tools.set(tool.name, tool);
  }

  /** Anew for each question: a definition tells what holds at the time. */
  definitions(): Promise<ToolDefinition[]> {
    const shown = [...this.#tools.values()].filter(({ isEnabled = true }) => isEnabled);
    return Promise.all(shown.map((tool) => tool.define()));
  }

  /** Throws only when it was told to stop. */
  async call({ name, args, problem }: RequestedCall, signal: AbortSignal | undefined): Promise<Seen> {
    const tool = this.#tools.get(name);
    if (tool === undefined) return sentence(`Error: "Tool '${name}' not found. Available: [${this.#names()}]"`);
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

  #names(): string {
    return [...this.#tools.keys()].map((name) => `'${name}'`).join(', ');
  }
}

function sentence(text: string): Seen {
  return { observation: text, text, isError: true };
}
