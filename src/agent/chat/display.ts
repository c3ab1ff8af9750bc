import type { AgentEvent, ObservationEvent } from '../step/events.ts';

export type BlockKind = 'code' | 'output' | 'error' | 'notice';

/** Where and how a `Display` writes. */
export interface DisplayTarget {
  write(text: string): Promise<void> | void;
  /** Adds colours. */
  style?(kind: BlockKind, text: string): string;
  /** False for an observation that was already shown while it was produced. */
  isNews?(event: ObservationEvent): boolean;
}

/** Shows the steps of an agent as text, as they happen. */
export class Display {
  readonly #target: DisplayTarget;
  #isAtLineStart = true;
  /** Whether the current text of the model was already shown token by token. */
  #isSaid = false;

  constructor(target: DisplayTarget) {
    this.#target = target;
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
        if (this.#target.isNews?.(event) === false) return this.#endLine();
        return this.block(event.isError ? 'error' : 'output', event.text);
      case 'final_answer':
        return this.#say(event.answer);
      case 'error': // the caller gets it as an exception
        return this.#endLine();
    }
  }

  /** Shows text on lines of its own. */
  async block(kind: BlockKind, text: string): Promise<void> {
    await this.#endLine();
    const mark = kind === 'code' ? '│ ' : '';
    for (const line of clean(text).trimEnd().split('\n')) await this.#write(`${this.#style(kind, mark + line)}\n`);
  }

  /** Shows a piece of text that is not complete yet. */
  async piece(kind: BlockKind, text: string): Promise<void> {
    const cleaned = clean(text);
    if (cleaned === '') return;
    this.#isAtLineStart = cleaned.endsWith('\n');
    await this.#target.write(this.#style(kind, cleaned));
  }

  /** Writes a sequence for the terminal itself, such as a picture. */
  async raw(text: string): Promise<void> {
    await this.#endLine();
    await this.#target.write(text);
  }

  async #say(text: string): Promise<void> {
    if (!this.#isSaid) await this.#write(clean(text));
    this.#isSaid = false;
    await this.#endLine();
  }

  #style(kind: BlockKind, text: string): string {
    return this.#target.style?.(kind, text) ?? text;
  }

  async #write(text: string): Promise<void> {
    if (text === '') return;
    this.#isAtLineStart = text.endsWith('\n');
    await this.#target.write(text);
  }

  async #endLine(): Promise<void> {
    if (!this.#isAtLineStart) await this.#write('\n');
  }
}

/** Removes control characters: neither a model nor a program may control the terminal. */
function clean(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/\r\n?/gu, '\n').replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu, '');
}
