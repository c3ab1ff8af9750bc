import type { Socket } from 'node:net';
import type { z } from 'zod';
import { parseCounted, ProtocolViolation } from '../../hostile-json.ts';

const LENGTHS_BYTES = 8;
/** Of the JSON of a frame: it is scanned, parsed and checked at once. */
const MAX_HEADER_BYTES = 1 << 20;
/** More than the largest result has; see python/_vivarium/display/budget.py. */
const MAX_PAYLOAD_BYTES = 8 << 20;
/** After so long a stream lets everybody else have a turn. */
const TURN_MS = 10;

/** One frame: two lengths, a JSON header, raw bytes. */
export function encodeFrame(header: object): Buffer {
  const text = JSON.stringify(header);
  const bytes = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(LENGTHS_BYTES + bytes);
  frame.writeUInt32BE(bytes, 0);
  frame.writeUInt32BE(0, 4);
  frame.write(text, LENGTHS_BYTES);
  return frame;
}

/** A frame that was read. */
export interface Frame {
  readonly header: unknown;
  readonly payload: Buffer;
  /** In bytes. */
  readonly size: number;
  /** Of parsing its header. */
  readonly cost: number;
}

export interface FrameLimits {
  readonly maxHeaderBytes?: number;
}

/** Cuts a stream of bytes into frames. The input is hostile, so sizes and depth are checked before anything is parsed. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;
  #wanted = LENGTHS_BYTES;
  #skipTo: Buffer | null = null;
  #isBroken = false;
  #skipped = Promise.withResolvers<void>();
  readonly #maxHeaderBytes: number;

  constructor({ maxHeaderBytes = MAX_HEADER_BYTES }: FrameLimits = {}) {
    this.#maxHeaderBytes = maxHeaderBytes;
  }

  /** Drops everything up to and including `token`, which is what a lost process may have written. */
  skipTo(token: Buffer): Promise<void> {
    this.#skipTo = token;
    this.#isBroken = false;
    this.#skipped = Promise.withResolvers<void>();
    return this.#skipped.promise;
  }

  /** Drops everything until `skipTo`. Nothing is read after a breach of the protocol. */
  breakOff(): void {
    this.#isBroken = true;
    this.#keep(Buffer.alloc(0));
  }

  /** Passes on all frames that are complete now. */
  push(chunk: Buffer, onFrame: (frame: Frame) => void): void {
    if (this.#isBroken) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    // Chunks are joined once a frame is complete, not each time one arrives.
    if (this.#skipTo !== null ? !this.#skip(this.#skipTo) : this.#length < this.#wanted) return;
    let data = this.#join();
    while ((this.#wanted = this.#lengthOf(data)) <= data.length) {
      const end = LENGTHS_BYTES + data.readUInt32BE(0);
      const text = data.subarray(LENGTHS_BYTES, end);
      const payload = data.subarray(end, this.#wanted);
      data = data.subarray(this.#wanted);
      this.#keep(data);
      const { json: header, cost } = parseCounted(text);
      onFrame({ header, payload, size: text.length + payload.length, cost });
    }
  }

  /** The length of the frame that `data` begins with, or as much of it as is known. */
  #lengthOf(data: Buffer): number {
    if (data.length < LENGTHS_BYTES) return LENGTHS_BYTES;
    const [header, payload] = [data.readUInt32BE(0), data.readUInt32BE(4)];
    if (header > this.#maxHeaderBytes || payload > MAX_PAYLOAD_BYTES) {
      throw new ProtocolViolation(`a frame of ${header} and ${payload} bytes`);
    }
    return LENGTHS_BYTES + header + payload;
  }

  #skip(token: Buffer): boolean {
    const data = this.#join();
    const found = data.indexOf(token);
    this.#keep(data.subarray(found < 0 ? Math.max(0, data.length - token.length + 1) : found + token.length));
    if (found < 0) return false;
    this.#skipTo = null;
    this.#skipped.resolve();
    return true;
  }

  #join(): Buffer {
    const [only] = this.#chunks;
    return this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks, this.#length);
  }

  #keep(data: Buffer): void {
    this.#chunks = data.length === 0 ? [] : [data];
    this.#length = data.length;
    this.#wanted = LENGTHS_BYTES;
  }
}

/** What an event is, by its schema. */
export function parseEvent<T>(schema: z.ZodType<T>, { header }: Frame): T {
  const parsed = schema.safeParse(header);
  if (!parsed.success) throw new ProtocolViolation('an event that is not known');
  return parsed.data;
}

/**
 * Reads frames from a socket until it ends or breaks the protocol. A frame that makes us fail breaks it too: whatever one
 * process sends, it concerns nobody else. A flood of frames does not keep others from their turn.
 */
export function readFrames(
  socket: Socket,
  reader: FrameReader,
  on: { readonly frame: (frame: Frame) => void; readonly violation: (error: ProtocolViolation) => void },
): void {
  let spentMs = 0;
  const rest = (): void => {
    socket.pause();
    setImmediate(() => {
      spentMs = 0;
      socket.resume();
    });
  };
  socket.on('data', (chunk) => {
    const startedMs = performance.now();
    try {
      reader.push(chunk, on.frame);
    } catch (error) {
      reader.breakOff();
      on.violation(error instanceof ProtocolViolation ? error : unmanageable(error));
    }
    spentMs += performance.now() - startedMs;
    if (spentMs > TURN_MS) rest();
  });
}

function unmanageable(cause: unknown): ProtocolViolation {
  const name = cause instanceof Error ? cause.name : typeof cause;
  return new ProtocolViolation(`a frame that could not be handled (${name})`, { cause });
}
