import type { AgentEvent, ObservationEvent } from '../step/events.ts';

export type Kind = 'code' | 'output' | 'error' | 'notice';

/** Where and how steps are shown. */
export interface Look {
  write(text: string): Promise<void> | void;
  /** Colours, where there are any. */
  style?(kind: Kind, text: string): string;
  /** Shows what text cannot: pictures. */
  showExtras?(event: ObservationEvent): Promise<void>;
}

/** Shows what an agent does as text, while it does it. */
export class Display {
  readonly #look: Look;
  #isAtLineStart = true;
  #hasAnswerBegun = false;

  constructor(look: Look) {
    this.#look = look;
  }

  async show(event: AgentEvent): Promise<void> {
    switch (event.type) {
      case 'token':
        this.#hasAnswerBegun = true;
        return this.#write(clean(event.token));
      case 'thought': // its tokens were shown
        return this.#endLine();
      case 'action':
        this.#hasAnswerBegun = false;
        return this.#block('code', event.code ?? `${event.tool} ${String(event.tool_input)}`);
      case 'observation':
        await this.#block(event.isError ? 'error' : 'output', event.text);
        return this.#look.showExtras?.(event);
      case 'final_answer':
        if (!this.#hasAnswerBegun) await this.#write(clean(event.answer));
        this.#hasAnswerBegun = false;
        return this.#endLine();
      case 'error': // whoever asked gets it as an exception
        return this.#endLine();
    }
  }

  async notice(text: string): Promise<void> {
    await this.#block('notice', text);
  }

  async #block(kind: Kind, text: string): Promise<void> {
    await this.#endLine();
    const lines = clean(text).trimEnd().split('\n');
    const mark = { code: '│ ', output: '', error: '', notice: '' }[kind];
    for (const line of lines) await this.#write(`${this.#style(kind, mark + line)}\n`);
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
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu, '');
}
