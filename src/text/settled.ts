/** Text as a terminal would leave it: of a progress bar, only its last state stays. */
import { escapeAnsi } from './clean-text.ts';

/** The cursor moves up by some lines, as it does for bars one below the other. */
// oxlint-disable-next-line no-control-regex
const UP = /\u001B\[(\d{0,3})[AF]/u;
const MOVES = new RegExp(String.raw`[\r\b]|${UP.source}`, 'u');
/** Between pieces of one line there may be colours. */
// oxlint-disable-next-line no-control-regex
const RETURNS_FIRST = /^(?:\u001B\[[\d;]{0,64}m)*\r(?!\n|$)/u;
// oxlint-disable-next-line no-control-regex
const RETURNS_LAST = /\r(?:\u001B\[[\d;]{0,64}[mK])*$/u;

/** Removes terminal sequences, and shows what they and carriage returns would leave on a screen. */
export function settle(text: string): string {
  if (!MOVES.test(text)) return escapeAnsi(text);
  const screen = new Screen();
  for (const [index, piece] of text.split(new RegExp(UP, 'u')).entries()) {
    if (index % 2 === 0) screen.write(escapeAnsi(piece));
    else screen.moveUp(Number(piece === '' ? 1 : piece));
  }
  return screen.text();
}

/**
 * Texts of one stream with something in between, in which a line may be written over by the next text. Then only its last
 * state stays, in the last text.
 */
export function settleAll(texts: readonly string[]): string[] {
  const raw = [...texts];
  for (const [index, text] of texts.entries()) {
    const before = raw[index - 1];
    if (before === undefined || text.startsWith('\n')) continue;
    const open = before.slice(before.lastIndexOf('\n') + 1);
    const isOverwritten = open !== '' && (RETURNS_FIRST.test(text) || RETURNS_LAST.test(open));
    if (isOverwritten) raw[index - 1] = before.slice(0, before.length - open.length);
  }
  return raw.map(settle);
}

/** Lines with a cursor. What is written at the beginning of a line replaces it, so that no end of a longer bar stays. */
class Screen {
  readonly #lines = [''];
  #row = 0;
  #isAtStart = true;

  write(text: string): void {
    for (const [token] of text.matchAll(/[\r\n]|[^\r\n]+/gu)) {
      if (token === '\r') this.#isAtStart = true;
      else if (token === '\n') this.#moveDown();
      else this.#print(token);
    }
  }

  moveUp(count: number): void {
    this.#row = Math.max(0, this.#row - count);
  }

  text(): string {
    return this.#lines.map((line) => escapeAnsi(line, { finalLines: true })).join('\n');
  }

  #moveDown(): void {
    this.#row += 1;
    if (this.#row === this.#lines.length) this.#lines.push('');
    this.#isAtStart = true;
  }

  #print(text: string): void {
    const line = this.#lines[this.#row] ?? '';
    // Spaces over a line erase it.
    this.#lines[this.#row] = this.#isAtStart ? (text.trim() === '' && line !== '' ? '' : text) : line + text;
    this.#isAtStart = false;
  }
}
