import { escapeAnsi } from '../../text/clean-text.ts';
import { makeVisible } from '../../text/visible.ts';

const BEGINS = '│ ';
const GOES_ON = '┆ ';
/** Output without a new line is held back while it is not plain; nobody prints that much and means it. */
const MAX_HELD = 16_384;
const CONTROL = /[\p{Cc}\p{Cs}]/u;

/**
 * Text of others with a mark before every line, those that a terminal would break included: none of it can pass for a
 * line of ours.
 */
export class Frame {
  readonly #columns: number;
  #held = '';
  #column = 0;

  constructor(columns: number | undefined) {
    this.#columns = columns === undefined ? Infinity : Math.max(20, columns);
  }

  /** A whole text, ready to be written. */
  static around(text: string, columns: number | undefined): string {
    const frame = new Frame(columns);
    return frame.#lay(`${makeVisible(text.replace(/\n$/, ''))}\n`);
  }

  /** Takes output as it comes; gives what can be written of it. */
  add(text: string): string {
    const lines = (this.#held + text).split('\n');
    this.#held = lines.pop() ?? '';
    const whole = lines.map((line) => `${settle(line)}\n`).join('');
    return this.#lay(whole + this.#release());
  }

  /** The rest, with its line ended. */
  end(): string {
    const rest = settle(this.#held);
    this.#held = '';
    return this.#lay(rest) + (this.#column > 0 ? this.#lay('\n') : '');
  }

  /** A line that has only begun is shown as far as no later character changes what it means. */
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
        // Nobody knows how wide a terminal makes other characters; two columns are the most.
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

/** A line as a terminal would leave it. */
function settle(line: string): string {
  return makeVisible(escapeAnsi(line, { finalLines: true }));
}

/** Words of others within a line of ours: one line, of this length at most. */
export function inLine(text: string, maxChars: number): string {
  const line = makeVisible(escapeAnsi(text.slice(0, 4 * maxChars)).replaceAll(/\s+/g, ' ')).trim();
  return line.length > maxChars ? `${line.slice(0, maxChars - 1)}…` : line;
}
