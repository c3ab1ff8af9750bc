import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { KIN_BYTES, MARK_BYTES } from './marks.ts';

const NOTHING = Buffer.alloc(0);
/** What is read of a program that prints where no run is on; then it has to wait. */
const MAX_IDLE_BYTES = 64 << 10;

/** stdout or stderr of a session. Output before a mark belongs to the run that the mark ends. */
export class OutputPipe {
  readonly #socket: Socket;
  readonly #kin: Buffer;
  readonly #decoder = new StringDecoder('utf8');
  #sink: ((text: string) => void) | null = null;
  #mark: number | null = null;
  #opening: number | null = null;
  #held: Buffer = NOTHING;
  #onComplete: (() => void) | null = null;
  #runBytes = 0;
  #strayBytes = 0;
  #idleBytes = 0;
  #hasEnded = false;

  constructor(socket: Socket, kin: Buffer) {
    this.#socket = socket;
    this.#kin = kin;
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('close', () => this.#onClose());
    socket.resume();
  }

  /** Whether something was printed since the last run, and more of it may be under way. */
  get isDirty(): boolean {
    return this.#idleBytes > 0;
  }

  /** From now on output goes to `sink`, until `mark` is seen; what comes before `opening` is still of earlier runs. */
  begin(mark: number, opening: number | null, sink: (text: string) => void): void {
    this.#mark = mark;
    this.#opening = opening;
    this.#sink = sink;
    this.#runBytes = 0;
    this.#held = NOTHING;
    if (this.#idleBytes > MAX_IDLE_BYTES) this.resume();
    this.#idleBytes = 0;
  }

  /** The worker is lost and so is its mark, if it owed one: the process that takes over will write `mark` instead. */
  remark(mark: number): void {
    this.#release();
    this.#mark = mark;
    this.#opening = null;
    if (this.#idleBytes > MAX_IDLE_BYTES) this.resume();
    this.#idleBytes = 0;
  }

  /** Resolves when the mark was seen, or can come no more. */
  complete(): Promise<void> {
    if (this.#mark === null || this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => (this.#onComplete = resolve));
  }

  /** Stops delivering; the bytes that the run printed. */
  end(): number {
    this.#release();
    const rest = this.#decoder.end();
    if (rest !== '') this.#sink?.(rest);
    this.#sink = null;
    this.#mark = this.#opening = null;
    return this.#runBytes;
  }

  /** What the run has printed so far. */
  get runBytes(): number {
    return this.#runBytes;
  }

  /** Bytes that came between runs since the last call. */
  takeStrayBytes(): number {
    const bytes = this.#strayBytes;
    this.#strayBytes = 0;
    return bytes;
  }

  /** Whether a slow consumer keeps output from being read, or has until just now. */
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
    const kin = this.#kin;
    for (let found = data.indexOf(kin); found >= 0 && found + MARK_BYTES <= data.length; found = data.indexOf(kin)) {
      const before = data.subarray(0, found);
      const mark = data.readUInt32BE(found + KIN_BYTES);
      data = data.subarray(found + MARK_BYTES);
      if (this.#opening === null && mark === this.#mark) {
        this.#complete(before, data);
        return;
      }
      this.#strayBytes += before.length; // that of an earlier run, which this ends
      if (this.#opening === mark) this.#opening = null;
    }
    const held = overlap(data, kin);
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
    this.#strayBytes += bytes.length;
    this.#idleBytes += bytes.length;
    if (this.#idleBytes > MAX_IDLE_BYTES) this.pause();
  }

  #deliver(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#sink === null || this.#opening !== null) {
      this.#strayBytes += bytes.length;
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

/** How many bytes at the end of `data` may be the beginning of a mark. */
function overlap(data: Buffer, kin: Buffer): number {
  const whole = data.indexOf(kin, Math.max(0, data.length - MARK_BYTES));
  if (whole >= 0) return data.length - whole;
  for (let length = Math.min(KIN_BYTES - 1, data.length); length > 0; length -= 1) {
    if (data.compare(kin, 0, length, data.length - length) === 0) return length;
  }
  return 0;
}
