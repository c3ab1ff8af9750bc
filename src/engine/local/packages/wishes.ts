import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { z } from 'zod';

/** What a pipe takes as a whole; see python/_vivarium/inside/pip/request.py. */
const LINE_BYTES = 4096;
const MAX_OPEN = 8;
const MAX_WISH_BYTES = 64 << 10;

const Line = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  requirements: z.array(z.string()),
  isLast: z.boolean(),
});

/** What a program in a session asks for. */
export interface Wish {
  readonly id: string;
  readonly requirements: readonly string[];
}

/**
 * Reads what a session asks for from its pipe. Any of its processes writes there, so whatever does not have the form is
 * dropped: it concerns nobody but the one that wrote it, who gets no answer.
 */
export class WishReader implements Disposable {
  readonly #socket: Socket;
  readonly #onWish: (wish: Wish) => void;
  readonly #parts = new Map<string, string[]>();
  #pending = Buffer.alloc(0);
  #isLate = false;

  constructor(pipe: string, onWish: (wish: Wish) => void) {
    this.#onWish = onWish;
    // For both directions, so that it does not end when a writer does.
    const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      this.#socket = new Socket({ fd, readable: true, writable: false }).unref();
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', () => this.#socket.destroy()); // then nobody reads, and those who ask are told so
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    let data = Buffer.concat([this.#pending, chunk]);
    for (let end = data.indexOf(0x0a); end >= 0; end = data.indexOf(0x0a)) {
      if (!this.#isLate && end < LINE_BYTES) this.#take(data.subarray(0, end));
      this.#isLate = false;
      data = data.subarray(end + 1);
    }
    this.#isLate ||= data.length > LINE_BYTES; // the rest of that line is dropped as well
    this.#pending = this.#isLate ? Buffer.alloc(0) : Buffer.from(data);
  }

  #take(line: Buffer): void {
    const parsed = Line.safeParse(parseJson(line));
    if (!parsed.success) return;
    const { id, requirements, isLast } = parsed.data;
    const all = [...(this.#parts.get(id) ?? []), ...requirements];
    this.#parts.delete(id);
    if (isLast) return this.#onWish({ id, requirements: all });
    if (this.#parts.size >= MAX_OPEN || all.join('').length > MAX_WISH_BYTES) return;
    this.#parts.set(id, all);
  }
}

function parseJson(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return null;
  }
}
