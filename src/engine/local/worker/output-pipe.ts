import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { MARK_BYTES, PREFIX_BYTES } from './marks.ts';

const NOTHING = Buffer.alloc(0);
/** How much output is read between runs. A program that prints more has to wait. */
const MAX_IDLE_BYTES = 64 << 10;

/** stdout or stderr of a session. Output before a mark belongs to the run that the mark ends. */
export class OutputPipe {
  readonly #socket: Socket;
  readonly #prefix: Buffer;
  readonly #decoder = new StringDecoder('utf8');
  #sink: ((text: string) => void) | null = null;
  #mark: number | null = null;
  #opening: number | null = null;
  #held: Buffer = NOTHING;
  #onComplete: (() => void) | null = null;
  #runBytes = 0;
  #backgroundBytes = 0;
  #idleBytes = 0;
  #hasEnded = false;

  constructor(socket: Socket, prefix: Buffer) {
    this.#socket = socket;
    this.#prefix = prefix;
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('close', () => this.#onClose());
    socket.resume();
  }

  /** Whether something was printed since the last run, so that more may be on its way. */
  get isDirty(): boolean {
    return this.#idleBytes > 0;
  }

  /** From now on output goes to `sink`, until `mark` is seen. What comes before `opening` belongs to earlier runs. */
  begin(mark: number, opening: number | null, sink: (text: string) => void): void {
    this.#mark = mark;
    this.#opening = opening;
    this.#sink = sink;
    this.#runBytes = 0;
    this.#held = NOTHING;
    if (this.#idleBytes > MAX_IDLE_BYTES) this.resume();
    this.#idleBytes = 0;
  }

  /** The worker is lost, and with it its mark. The twin that takes over will write `mark` instead. */
  remark(mark: number): void {
    this.#release();
    this.#mark = mark;
    this.#opening = null;
    if (this.#idleBytes > MAX_IDLE_BYTES) this.resume();
    this.#idleBytes = 0;
  }

  /** Resolves when the mark was seen or can no longer come. */
  complete(): Promise<void> {
    if (this.#mark === null || this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => (this.#onComplete = resolve));
  }

  /** Stops delivering. Returns the number of bytes that the run printed. */
  end(): number {
    this.#release();
    const rest = this.#decoder.end();
    if (rest !== '') this.#sink?.(rest);
    this.#sink = null;
    this.#mark = this.#opening = null;
    return this.#runBytes;
  }

  /** The number of bytes that the run has printed so far. */
  get runBytes(): number {
    return this.#runBytes;
  }

  /** The number of bytes that came between runs since the last call. */
  takeBackgroundBytes(): number {
    const bytes = this.#backgroundBytes;
    this.#backgroundBytes = 0;
    return bytes;
  }

  /** Whether output is not being read because its consumer is slow, or was not until just now. */
  get isHeldUp(): boolean {
    if (this.#idleBytes > MAX_IDLE_BYTES) return false; // nobody wants it
    return this.#socket.isPaused() || this.#socket.readableLength > 0;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    if (this.#mark === null) {
      this.#onIdleData(chunk);
      return;
    }
    let data = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = NOTHING;
    const prefix = this.#prefix;
    for (
      let found = data.indexOf(prefix);
      found >= 0 && found + MARK_BYTES <= data.length;
      found = data.indexOf(prefix)
    ) {
      const before = data.subarray(0, found);
      const mark = data.readUInt32BE(found + PREFIX_BYTES);
      data = data.subarray(found + MARK_BYTES);
      if (this.#opening === null && mark === this.#mark) {
        this.#complete(before, data);
        return;
      }
      this.#backgroundBytes += before.length; // of an earlier run, which this mark ends
      if (this.#opening === mark) this.#opening = null;
    }
    const held = overlap(data, prefix);
    this.#held = data.subarray(data.length - held);
    this.#deliver(data.subarray(0, data.length - held));
  }

  #complete(last: Buffer, rest: Buffer): void {
    this.#deliver(last);
    this.#mark = null;
    this.#onIdleData(rest);
    this.#onComplete?.();
  }

  #onIdleData(bytes: Buffer): void {
    this.#backgroundBytes += bytes.length;
    this.#idleBytes += bytes.length;
    if (this.#idleBytes > MAX_IDLE_BYTES) this.pause();
  }

  #deliver(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#sink === null || this.#opening !== null) {
      this.#backgroundBytes += bytes.length;
      return;
    }
    this.#runBytes += bytes.length;
    const text = this.#decoder.write(bytes);
    if (text !== '') this.#sink(text);
  }

  #release(): void {
    const held = this.#held;
    this.#held = NOTHING;
    this.#deliver(held);
  }

  #onClose(): void {
    this.#release();
    this.#hasEnded = true;
    this.#onComplete?.();
  }
}

/** The number of bytes at the end of `data` that may be the beginning of a mark. */
function overlap(data: Buffer, prefix: Buffer): number {
  const whole = data.indexOf(prefix, Math.max(0, data.length - MARK_BYTES));
  if (whole >= 0) return data.length - whole;
  for (let length = Math.min(PREFIX_BYTES - 1, data.length); length > 0; length -= 1) {
    if (data.compare(prefix, 0, length, data.length - length) === 0) return length;
  }
  return 0;
}
