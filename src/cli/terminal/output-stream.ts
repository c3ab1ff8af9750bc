import { once } from 'node:events';
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import type { TerminalText } from '../../text/terminal-text.ts';

/** For terminals that do not know their size, as on serial lines and in some containers. */
const USUAL_SIZE = { columns: 80, rows: 24 };

/** Styles take no room on the terminal. */
// oxlint-disable-next-line no-control-regex
const ONLY_STYLES = /^(?:\u001B\[[\d;:]*m)*$/u;

type TextStyle = Parameters<typeof styleText>[0];

/** Standard output or standard error. Waits for slow readers, and discards text once the reader has gone. */
export class OutputStream {
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

  /** Width of the terminal; undefined if this is not one. */
  get columns(): number | undefined {
    return this.isTerminal ? this.#stream.columns || USUAL_SIZE.columns : undefined;
  }

  /** The stream for libraries that draw on the terminal. It always has a size. */
  get canvas(): WriteStream {
    const { columns, rows } = this.#stream;
    if (!columns || !rows) Object.assign(this.#stream, USUAL_SIZE);
    return this.#stream;
  }

  /** Resolves when more may be written. */
  async write(text: string): Promise<void> {
    const lineStart = text.lastIndexOf('\n') + 1;
    this.#isAtLineStart = ONLY_STYLES.test(text.slice(lineStart)) && (lineStart > 0 || this.#isAtLineStart);
    if (this.#isGone || this.#stream.write(text)) return;
    // An error ends the wait too. The listener in the constructor handles it.
    await once(this.#stream, 'drain').catch(() => undefined);
  }

  /** Writes text of a program. A terminal gets its colours and no other control sequences; a pipe gets it unchanged. */
  async relay(text: string): Promise<void> {
    if (!this.isTerminal) return this.write(text);
    const { TerminalText: Filter } = await import('../../text/terminal-text.ts'); // not needed for a pipe
    this.#foreign ??= new Filter();
    await this.write(this.#foreign.add(text));
  }

  /** Ends the text of a program: its colours do not affect what follows. */
  async endRelay(): Promise<void> {
    await this.write(this.#foreign?.end() ?? '');
  }

  line(text: string): Promise<void> {
    return this.write(`${text}\n`);
  }

  /** Starts a new line unless the cursor is at the start of one. */
  async endLine(): Promise<void> {
    if (!this.#isAtLineStart) await this.write('\n');
  }

  /** Styled text for a terminal, plain text otherwise. */
  style(style: TextStyle, text: string): string {
    return this.isTerminal ? styleText(style, text, { stream: this.#stream }) : text;
  }

  /** Resolves when everything has been written. */
  async flush(): Promise<void> {
    if (this.#isGone || this.#stream.writableLength === 0) return;
    await new Promise<void>((resolve) => this.#stream.write('', () => resolve()));
  }
}
