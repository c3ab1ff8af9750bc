import { createInterface, type Interface } from 'node:readline';
import { VivariumError } from '../../errors.ts';
import type { AgentEvent } from '../step/events.ts';
import { Display } from './display.ts';

export interface ChatStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

export interface ChatOptions extends ChatStreams {
  /** Ends the chat. */
  readonly signal?: AbortSignal | undefined;
  /** Default: plain text on the output. */
  readonly display?: Display;
}

/** The agent of a chat. */
export interface ChatPartner {
  streamSteps(message: string, options: { signal?: AbortSignal }): AsyncIterable<AgentEvent>;
}

const PROMPT = '> ';
const FAREWELLS = new Set(['exit', 'quit', '/exit', '/quit']);

/** Reads messages line by line and shows what the agent does, until the input ends or the user types `exit`. */
export class Chat {
  readonly #partner: ChatPartner;
  readonly #options: ChatOptions;
  readonly #display: Display;
  #turn: AbortController | undefined;
  #hasInputEnded = false;

  constructor(partner: ChatPartner, options: ChatOptions) {
    this.#partner = partner;
    this.#options = options;
    this.#display = options.display ?? new Display({ write: (text) => void options.output.write(text) });
  }

  async run(): Promise<void> {
    const { input, output, signal } = this.#options;
    const isTerminal = 'isTTY' in output && output.isTTY === true;
    const lines = createInterface({ input, ...(isTerminal && { output }), prompt: PROMPT, ...(signal && { signal }) });
    lines.on('close', () => (this.#hasInputEnded = true));
    lines.on('SIGINT', () => this.#interruptOr(() => lines.close())); // the line editor receives Ctrl-C
    try {
      await this.#converse(lines);
    } finally {
      lines.close();
    }
  }

  /** Stops the current answer. Returns false if there is none. */
  interrupt(): boolean {
    this.#turn?.abort(new Error('interrupted'));
    return this.#turn !== undefined;
  }

  #interruptOr(leave: () => void): void {
    if (!this.interrupt()) leave();
  }

  async #converse(lines: Interface): Promise<void> {
    this.#ask(lines);
    for await (const line of lines) {
      const message = line.trim();
      if (FAREWELLS.has(message)) return;
      if (message !== '') await this.#exchange(message);
      this.#ask(lines);
    }
  }

  /** A pipe needs no prompt, and a closed editor cannot show one. */
  #ask(lines: Interface): void {
    if (lines.terminal && !this.#hasInputEnded) lines.prompt();
  }

  async #exchange(message: string): Promise<void> {
    const turn = (this.#turn = new AbortController());
    const { signal } = this.#options;
    const stop = signal ? AbortSignal.any([signal, turn.signal]) : turn.signal;
    try {
      for await (const event of this.#partner.streamSteps(message, { signal: stop })) await this.#display.show(event);
    } catch (error) {
      signal?.throwIfAborted();
      if (turn.signal.aborted) await this.#display.block('notice', 'interrupted; the variables are still there');
      else if (error instanceof VivariumError) await this.#display.block('notice', `error: ${error.message}`);
      else throw error;
    } finally {
      this.#turn = undefined;
    }
  }
}
