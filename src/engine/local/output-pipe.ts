import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';

/** stdout or stderr of a session. Output before a mark belongs to the run that the mark ends. */
export class OutputPipe {
  readonly #socket: Socket;
  #sink: ((text: string) => void) | null = null;
  #decoder = new StringDecoder('utf8');
  #mark: Buffer | null = null;
  #held: Buffer = Buffer.alloc(0);
  #marked = Promise.withResolvers<void>();
  #runBytes = 0;
  #strayBytes = 0;
  #hasEnded = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('close', () => this.#onClose());
    socket.resume();
  }

  /** From now on output goes to `sink`, until `mark` is seen. */
  begin(mark: Buffer, sink: (text: string) => void): void {
    this.#mark = mark;
    this.#sink = sink;
    this.#runBytes = 0;
    this.#held = Buffer.alloc(0);
    this.#decoder = new StringDecoder('utf8');
    this.#await();
  }

  /** The worker is lost and so is its mark, if it owed one: the process that takes over will write `mark` instead. */
  remark(mark: Buffer): void {
    this.#release();
    this.#mark = mark;
    this.#await();
  }

  /** Resolves when the mark was seen, or can come no more. */
  get complete(): Promise<void> {
    return this.#marked.promise;
  }

  /** Stops delivering; the bytes that the run printed. */
  end(): number {
    this.#release();
    const rest = this.#decoder.end();
    if (rest !== '') this.#sink?.(rest);
    this.#sink = null;
    this.#mark = null;
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

  #await(): void {
    this.#marked = Promise.withResolvers<void>();
    if (this.#hasEnded) this.#marked.resolve();
  }

  #onData(chunk: Buffer): void {
    if (this.#mark === null) {
      this.#strayBytes += chunk.length;
      return;
    }
    const data = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const found = data.indexOf(this.#mark);
    if (found >= 0) {
      this.#held = Buffer.alloc(0);
      this.#deliver(data.subarray(0, found));
      this.#strayBytes += data.length - found - this.#mark.length;
      this.#mark = null;
      this.#marked.resolve();
      return;
    }
    const held = overlap(data, this.#mark);
    this.#held = data.subarray(data.length - held);
    this.#deliver(data.subarray(0, data.length - held));
  }

  #deliver(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#sink === null) {
      this.#strayBytes += bytes.length;
      return;
    }
    this.#runBytes += bytes.length;
    const text = this.#decoder.write(bytes);
    if (text !== '') this.#sink(text);
  }

  #release(): void {
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    this.#deliver(held);
  }

  #onClose(): void {
    this.#release();
    this.#hasEnded = true;
    this.#marked.resolve();
  }
}

/** How many bytes at the end of `data` may be the beginning of `mark`. */
function overlap(data: Buffer, mark: Buffer): number {
  for (let length = Math.min(mark.length - 1, data.length); length > 0; length -= 1) {
    if (data.compare(mark, 0, length, data.length - length) === 0) return length;
  }
  return 0;
}
