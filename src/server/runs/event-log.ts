import { closeSync, openSync, read, unlinkSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';

/** How far the program may be ahead of its fastest reader. */
const WINDOW_BYTES = 256 << 10;
/** How much of one log is kept in memory before the rest goes to a file. */
const MEMORY_BYTES = 1 << 20;
const FILE_BYTES = 64 << 20;
/** What is kept of events that fit into neither. */
const OVERFLOW_BYTES = 1 << 20;
/** Small frames are given to a reader together. */
const BATCH_BYTES = 64 << 10;

const readFile = promisify(read);

interface StoredFrame {
  readonly offset: number;
  readonly length: number;
}

interface Reader {
  /** The number of frames that it has taken or skipped. */
  taken: number;
  /** The size of the frames that it has not taken. */
  behindBytes: number;
}

/**
 * What is sent of one run or command, as server-sent events with numbers from 1. Readers may come at any time and start
 * anywhere. While there are any, a writer waits for the fastest; without one the first part stays in memory, more
 * in a file, and of what is left only the end. A reader sees from a gap in the numbers that events are missing.
 */
export class EventLog implements Disposable {
  readonly #openFile: () => string;
  readonly #readers = new Set<Reader>();
  /** Null: dropped. */
  readonly #frames: (string | StoredFrame | null)[] = [];
  #memoryBytes = 0;
  #fileBytes = 0;
  #overflowBytes = 0;
  /** The first frame that neither memory nor file had room for. */
  #overflowsFrom = 0;
  #fd: number | undefined;
  #isOver = false;
  #moved = Promise.withResolvers<void>();
  #grown = Promise.withResolvers<void>();

  /** `nameFile` returns the path of a new file, which is needed only if there is much to keep. */
  constructor(nameFile: () => string) {
    this.#openFile = nameFile;
  }

  get hasReaders(): boolean {
    return this.#readers.size > 0;
  }

  /** What it holds in memory. */
  get memoryBytes(): number {
    return this.#memoryBytes + this.#overflowBytes;
  }

  /** Adds an event. The promise, if there is one, resolves when the program may go on. */
  append(type: string, json: string): Promise<void> | undefined {
    const frame = `id: ${this.#frames.length + 1}\nevent: ${type}\ndata: ${json}\n\n`;
    for (const reader of this.#readers) reader.behindBytes += frame.length;
    this.#keep(frame);
    this.#signalGrowth();
    return this.#mayGoOn() ? undefined : this.#whenRead();
  }

  /** No event comes any more. */
  end(): void {
    this.#isOver = true;
    this.#signalGrowth();
  }

  /** The events after a number, and those to come, until the last one or until the reader leaves. */
  async *read(after: number, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    const reader: Reader = { taken: Math.min(after, this.#frames.length), behindBytes: 0 };
    for (const frame of this.#frames.slice(reader.taken)) reader.behindBytes += frame?.length ?? 0;
    this.#readers.add(reader);
    const onAbort = (): void => this.#leave(reader);
    signal.addEventListener('abort', onAbort);
    try {
      while (!signal.aborted) {
        const { promise: grown } = this.#grown; // before the look, so that nothing is missed between the two
        const batch = await this.#take(reader);
        if (batch !== '') yield batch;
        else if (this.#isOver && reader.taken >= this.#frames.length) return;
        else await grown;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#leave(reader);
    }
  }

  [Symbol.dispose](): void {
    this.end();
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#frames.length = 0;
    this.#memoryBytes = 0;
    this.#overflowBytes = 0;
  }

  #keep(frame: string): void {
    if (this.#memoryBytes + frame.length <= MEMORY_BYTES && this.#fileBytes === 0) {
      this.#memoryBytes += frame.length;
      this.#frames.push(frame);
    } else if (this.#overflowsFrom > 0 || this.#fileBytes >= FILE_BYTES || !this.#store(frame)) this.#overflow(frame);
  }

  /** The file has no name, so that nothing is left of it whatever happens to the server. False if the disk is full. */
  #store(frame: string): boolean {
    try {
      this.#frames.push(this.#write(frame));
      return true;
    } catch {
      return false;
    }
  }

  #write(frame: string): StoredFrame {
    if (this.#fd === undefined) {
      const file = this.#openFile();
      this.#fd = openSync(file, 'wx+', 0o600);
      unlinkSync(file);
    }
    const offset = this.#fileBytes;
    const bytes = Buffer.from(frame);
    for (let written = 0; written < bytes.length;) {
      written += writeSync(this.#fd, bytes, written, bytes.length - written, offset + written);
    }
    this.#fileBytes += bytes.length;
    return { offset, length: bytes.length };
  }

  #overflow(frame: string): void {
    if (this.#overflowsFrom === 0) this.#overflowsFrom = this.#frames.length;
    this.#frames.push(frame);
    this.#overflowBytes += frame.length;
    while (this.#overflowBytes > OVERFLOW_BYTES && this.#overflowsFrom < this.#frames.length - 1) {
      this.#overflowBytes -= this.#frames[this.#overflowsFrom]?.length ?? 0;
      this.#frames[this.#overflowsFrom] = null;
      this.#overflowsFrom += 1;
    }
  }

  async #take(reader: Reader): Promise<string> {
    let batch = '';
    while (batch.length < BATCH_BYTES && reader.taken < this.#frames.length) {
      const frame = this.#frames[reader.taken];
      if (typeof frame === 'object' && frame !== null && batch !== '') break; // a look at the file takes a while
      reader.taken += 1;
      if (frame === null || frame === undefined) continue;
      reader.behindBytes = Math.max(0, reader.behindBytes - frame.length);
      batch += typeof frame === 'string' ? frame : await this.#load(frame);
    }
    this.#signalMove();
    return batch;
  }

  async #load({ offset, length }: StoredFrame): Promise<string> {
    if (this.#fd === undefined) return '';
    const { buffer } = await readFile(this.#fd, Buffer.allocUnsafe(length), 0, length, offset);
    return buffer.toString('utf8');
  }

  #mayGoOn(): boolean {
    if (this.#readers.size === 0) return true;
    for (const { behindBytes } of this.#readers) if (behindBytes <= WINDOW_BYTES) return true;
    return false;
  }

  async #whenRead(): Promise<void> {
    while (!this.#mayGoOn()) await this.#moved.promise;
  }

  #leave(reader: Reader): void {
    if (!this.#readers.delete(reader)) return;
    this.#signalMove();
    this.#signalGrowth(); // the reader itself may be waiting
  }

  #signalMove(): void {
    this.#moved.resolve();
    this.#moved = Promise.withResolvers();
  }

  #signalGrowth(): void {
    this.#grown.resolve();
    this.#grown = Promise.withResolvers();
  }
}
