import type { Truncation } from './execution.ts';

/** How much of one stream a model gets to see by default. A longer stream has a file. */
export const TOLD_CHARS = 4000;

const PIECE_BYTES = 1 << 16;

/** A part of the text without anything in between. */
interface Piece {
  readonly order: number;
  readonly timeMs: number;
  text: string;
  bytes: number;
}

/** Keeps the head and the tail of a text within a number of bytes, and counts the rest. */
export class OutputBudget {
  readonly #half: number;
  readonly #head: Piece[] = [];
  #headBytes = 0;
  #isHeadFull = false;
  readonly #tail: Piece[] = [];
  #tailBytes = 0;
  #totalBytes = 0;

  constructor(maxBytes: number) {
    this.#half = Math.max(1, Math.floor(maxBytes / 2));
  }

  /** Text may be joined with the text before it if both have the same `order`. */
  add(text: string, order = 0, timeMs = 0): void {
    const bytes = Buffer.byteLength(text);
    this.#totalBytes += bytes;
    const room = this.#isHeadFull ? 0 : this.#half - this.#headBytes;
    if (bytes <= room) return this.#addToHead({ order, timeMs, text, bytes });
    const fits = room > 0 ? firstBytes(text, room) : '';
    if (fits !== '') this.#addToHead({ order, timeMs, text: fits, bytes: Buffer.byteLength(fits) });
    this.#isHeadFull = true; // everything that follows belongs to the tail
    const rest = text.slice(fits.length);
    this.#addToTail({ order, timeMs, text: rest, bytes: bytes - Buffer.byteLength(fits) });
  }

  /** What was kept, with a line in the middle that says how much was omitted. */
  pieces(): readonly Pick<Piece, 'order' | 'timeMs' | 'text'>[] {
    const tail = this.#keptTail();
    const omitted = this.#omittedBytes(tail);
    const first = tail[0];
    if (omitted === 0 || first === undefined) return [...this.#head, ...tail];
    return [
      ...this.#head,
      { ...first, text: `\n… ${omitted} bytes of output omitted …\n${first.text}` },
      ...tail.slice(1),
    ];
  }

  text(): string {
    return this.pieces()
      .map(({ text }) => text)
      .join('');
  }

  /** How much was cut, if anything was. */
  truncation(): Truncation | undefined {
    const omitted = this.#omittedBytes(this.#keptTail());
    return omitted === 0 ? undefined : { totalBytes: this.#totalBytes, keptBytes: this.#totalBytes - omitted };
  }

  #omittedBytes(tail: readonly Piece[]): number {
    return this.#totalBytes - this.#headBytes - tail.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The tail consists of whole pieces. What exceeds the budget is in the first of them. */
  #keptTail(): readonly Piece[] {
    const [first, ...rest] = this.#tail;
    if (first === undefined || this.#tailBytes <= this.#half) return this.#tail;
    const text = lastBytes(first.text, first.bytes - (this.#tailBytes - this.#half));
    return [{ ...first, text, bytes: Buffer.byteLength(text) }, ...rest];
  }

  #addToHead(piece: Piece): void {
    this.#headBytes += piece.bytes;
    append(this.#head, piece, Infinity);
  }

  /** Drops whole pieces from the front, because joining and cutting each time would cost more than the printing did. */
  #addToTail(piece: Piece): void {
    append(this.#tail, piece, PIECE_BYTES);
    this.#tailBytes += piece.bytes;
    for (let first = this.#tail[0]; first && this.#tailBytes - first.bytes >= this.#half; first = this.#tail[0]) {
      this.#tailBytes -= first.bytes;
      this.#tail.shift();
    }
  }
}

function append(pieces: Piece[], piece: Piece, maxBytes: number): void {
  const last = pieces.at(-1);
  if (last?.order === piece.order && last.bytes + piece.bytes <= maxBytes) {
    last.text += piece.text;
    last.bytes += piece.bytes;
  } else pieces.push(piece);
}

/** The longest prefix of at most `count` bytes that splits no character. */
function firstBytes(text: string, count: number): string {
  const bytes = Buffer.from(text.slice(0, count));
  let end = Math.min(count, bytes.length);
  while (end > 0 && end < bytes.length && isContinuation(bytes[end])) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** The longest suffix of at most `count` bytes that splits no character. */
function lastBytes(text: string, count: number): string {
  const bytes = Buffer.from(text.slice(-count));
  let start = Math.max(0, bytes.length - count);
  while (start < bytes.length && start > 0 && isContinuation(bytes[start])) start += 1;
  return bytes.toString('utf8', start);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
