import type { Truncation } from './execution.ts';

const PIECE_BYTES = 1 << 16;

/** Keeps the head and the tail of a text within a budget of bytes, and counts the rest. */
export class OutputBudget {
  readonly #half: number;
  #head: string[] = [];
  #headBytes = 0;
  readonly #tail: { text: string; bytes: number }[] = [];
  #tailBytes = 0;
  #totalBytes = 0;

  constructor(maxBytes: number) {
    this.#half = Math.max(1, Math.floor(maxBytes / 2));
  }

  add(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#totalBytes += bytes;
    const room = this.#half - this.#headBytes;
    if (bytes <= room) {
      this.#head.push(text);
      this.#headBytes += bytes;
      return;
    }
    const fits = room > 0 ? firstBytes(text, room) : '';
    if (fits !== '') this.#head.push(fits);
    this.#headBytes = this.#half; // closed: whatever follows belongs to the tail
    this.#addToTail(text.slice(fits.length));
  }

  text(): string {
    const tail = this.#keptTail();
    const omitted = this.#omittedBytes(tail);
    const notice = omitted > 0 ? `\n… ${omitted} bytes of output omitted …\n` : '';
    return this.#head.join('') + notice + tail;
  }

  /** `{ [name]: numbers }` when something was cut, else nothing. */
  truncation(name: 'stdout' | 'stderr'): { [key in 'stdout' | 'stderr']?: Truncation } {
    const omitted = this.#omittedBytes(this.#keptTail());
    if (omitted === 0) return {};
    return { [name]: { totalBytes: this.#totalBytes, keptBytes: this.#totalBytes - omitted } };
  }

  #omittedBytes(tail: string): number {
    const head = this.#head.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return this.#totalBytes - head - Buffer.byteLength(tail);
  }

  #keptTail(): string {
    return lastBytes(this.#tail.map(({ text }) => text).join(''), this.#half);
  }

  /** Whole pieces are dropped from the front: joining and cutting all the time would cost more than printing did. */
  #addToTail(text: string): void {
    const bytes = Buffer.byteLength(text);
    const last = this.#tail.at(-1);
    if (last !== undefined && last.bytes + bytes <= PIECE_BYTES) {
      last.text += text;
      last.bytes += bytes;
    } else this.#tail.push({ text, bytes });
    this.#tailBytes += bytes;
    for (let first = this.#tail[0]; first && this.#tailBytes - first.bytes >= this.#half; first = this.#tail[0]) {
      this.#tailBytes -= first.bytes;
      this.#tail.shift();
    }
  }
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
