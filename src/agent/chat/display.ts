import type { AgentEvent, ObservationEvent } from '../step/events.ts';

export type Kind = 'code' | 'output' | 'error' | 'notice';

/** Where and how steps are shown. */
export interface Look {
  write(text: string): Promise<void> | void;
  /** Colours, where there are any. */
  style?(kind: Kind, text: string): string;
  /** False for an observation that was shown already, while it came about. */
  isNews?(event: ObservationEvent): boolean;
}

/** Shows what an agent does as text, while it does it. */
export class Display {
  readonly #look: Look;
  #isAtLineStart = true;
  /** Whether what the model says now came token by token. */
  #isSaid = false;

  constructor(look: Look) {
    this.#look = look;
  }

  async show(event: AgentEvent): Promise<void> {
    switch (event.type) {
      case 'token':
        this.#isSaid = true;
        return this.#write(clean(event.token));
      case 'thought':
        return this.#say(event.thought);
      case 'action':
        this.#isSaid = false;
        return this.block('code', event.code ?? `${event.tool} ${String(event.tool_input)}`);
      case 'observation':
        if (this.#look.isNews?.(event) === false) return this.#endLine();
        return this.block(event.isError ? 'error' : 'output', event.text);
      case 'final_answer':
        return this.#say(event.answer);
      case 'error': // whoever asked gets it as an exception
        return this.#endLine();
    }
  }

  /** Text that begins and ends with a line. */
  async block(kind: Kind, text: string): Promise<void> {
    await this.#endLine();
    const mark = kind === 'code' ? '│ ' : '';
    for (const line of clean(text).trimEnd().split('\n')) await this.#write(`${this.#style(kind, mark + line)}\n`);
  }

  /** A piece of text that is still being written. */
  async piece(kind: Kind, text: string): Promise<void> {
    const cleaned = clean(text);
    if (cleaned === '') return;
    this.#isAtLineStart = cleaned.endsWith('\n');
    await this.#look.write(this.#style(kind, cleaned));
  }

  /** What is for the terminal itself: a picture. */
  async raw(text: string): Promise<void> {
    await this.#endLine();
    await this.#look.write(text);
  }

  async #say(text: string): Promise<void> {
    if (!this.#isSaid) await this.#write(clean(text));
    this.#isSaid = false;
    await this.#endLine();
  }

  #style(kind: Kind, text: string): string {
    return this.#look.style?.(kind, text) ?? text;
  }

  async #write(text: string): Promise<void> {
    if (text === '') return;
    this.#isAtLineStart = text.endsWith('\n');
    await this.#look.write(text);
  }

  async #endLine(): Promise<void> {
    if (!this.#isAtLineStart) await this.#write('\n');
  }
}

/** Neither a model nor a program may give orders to the terminal. */
function clean(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/\r\n?/gu, '\n').replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu, '');
}
