import { escapeAnsi } from '../../text/clean-text.ts';
import { makeVisible } from '../../text/visible.ts';

const BEGINS = '│ ';
const GOES_ON = '┆ ';
/** A line with control characters is held back until it ends or reaches this length. */
const MAX_HELD = 16_384;
const CONTROL = /[\p{Cc}\p{Cs}]/u;

/**
 * Marks every line of untrusted text, including the lines that result from wrapping at the edge of the terminal. No such
 * line can be mistaken for one of ours.
 */
export class TextFrame {
  readonly #columns: number;
  #held = '';
  #column = 0;

  constructor(columns: number | undefined) {
    this.#columns = columns === undefined ? Infinity : Math.max(20, columns);
  }

  /** Frames a complete text. */
  static around(text: string, columns: number | undefined): string {
    const frame = new TextFrame(columns);
    return frame.#lay(`${makeVisible(text.replace(/\n$/, ''))}\n`);
  }

  /** Takes output as it arrives, and returns what can be printed so far. */
  add(text: string): string {
    const lines = (this.#held + text).split('\n');
    this.#held = lines.pop() ?? '';
    const whole = lines.map((line) => `${settle(line)}\n`).join('');
    return this.#lay(whole + this.#release());
  }

  /** The rest, ended by a line break. */
  end(): string {
    const rest = settle(this.#held);
    this.#held = '';
    return this.#lay(rest) + (this.#column > 0 ? this.#lay('\n') : '');
  }

  /** The start of a line, unless later characters may change how it looks. */
  #release(): string {
    if (CONTROL.test(this.#held) && this.#held.length < MAX_HELD) return '';
    const text = settle(this.#held);
    this.#held = '';
    return text;
  }

  #lay(text: string): string {
    let laid = '';
    for (const character of text) {
      if (this.#column === 0) laid += this.#mark(BEGINS);
      if (character === '\n') this.#column = 0;
      else {
        // Terminals differ in the width of other characters. It is two columns at most.
        const width = character >= ' ' && character <= '~' ? 1 : 2;
        if (this.#column + width > this.#columns) laid += `\n${this.#mark(GOES_ON)}`;
        this.#column += width;
      }
      laid += character;
    }
    return laid;
  }

  #mark(mark: string): string {
    this.#column = mark.length + 1;
    return mark;
  }
}

/** A line as a terminal would show it in the end. */
function settle(line: string): string {
  return makeVisible(escapeAnsi(line, { finalLines: true }));
}
