/** Standard output or error: waits for slow readers, and is silent once the reader has gone. */
import { once } from 'node:events';
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import type { TerminalText } from '../../text/terminal-text.ts';

/** Serial lines and some containers have terminals without a size. */
const USUAL = { columns: 80, rows: 24 };

type Style = Parameters<typeof styleText>[0];

export class Output {
  readonly #stream: WriteStream;
  #isGone = false;
  #isAtLineStart = true;
  #foreign: TerminalText | undefined;

  constructor(stream: WriteStream, onGone: () => void) {
    this.#stream = stream;
    stream.on('error', () => {
      this.#isGone = true;
      onGone();
    });
  }

  get stream(): WriteStream {
    return this.#stream;
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY;
  }

  /** How wide the terminal is, also if it does not say so; undefined where there is none. */
  get columns(): number | undefined {
    return this.isTerminal ? this.#stream.columns || USUAL.columns : undefined;
  }

  /** For those who draw on the terminal, and would draw nothing sensible on one that has no size. */
  get canvas(): WriteStream {
    const { columns, rows } = this.#stream;
    if (!columns || !rows) Object.assign(this.#stream, USUAL);
    return this.#stream;
  }

  /** Resolves when more may be written. */
  async write(text: string): Promise<void> {
    if (text !== '') this.#isAtLineStart = text.endsWith('\n');
    if (this.#isGone || this.#stream.write(text)) return;
    // An error, which the listener above has seen, ends the wait too.
    await once(this.#stream, 'drain').catch(() => undefined);
  }

  /** Text of a program: on a terminal it may look as it likes and no more; anywhere else it is passed on as it is. */
  async relay(text: string): Promise<void> {
    if (!this.isTerminal) return this.write(text);
    const { TerminalText: Filter } = await import('../../text/terminal-text.ts'); // a pipe needs none
    this.#foreign ??= new Filter();
    await this.write(this.#foreign.add(text));
  }

  /** The program has said all that it will: what comes next does not look like it. */
  async endRelay(): Promise<void> {
    await this.write(this.#foreign?.end() ?? '');
  }

  line(text: string): Promise<void> {
    return this.write(`${text}\n`);
  }

  /** Begins a new line unless one has just begun. */
  async endLine(): Promise<void> {
    if (!this.#isAtLineStart) await this.write('\n');
  }

  /** Colours on a terminal, plain text anywhere else. */
  style(style: Style, text: string): string {
    return this.isTerminal ? styleText(style, text, { stream: this.#stream }) : text;
  }

  /** Resolves when all was handed to the reader. */
  async flush(): Promise<void> {
    if (this.#isGone || this.#stream.writableLength === 0) return;
    await new Promise<void>((resolve) => this.#stream.write('', () => resolve()));
  }
}
