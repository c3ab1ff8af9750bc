/** Server-sent events, as the HTML standard writes them. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { Task } from '../../process-life.ts';

/** One event of a stream. */
export interface SentEvent {
  /** Undefined if it has none, or one that is not a number. */
  readonly id: number | undefined;
  readonly event: string;
  readonly data: string;
}

/** One event may be about as large as a text that JavaScript can hold. */
const MAX_FRAME_CHARS = 500 * 2 ** 20;
/** Servers send a comment every 15 seconds. */
const SILENCE_MS = 45_000;

/** Puts events together from bytes as they arrive, in time that grows with their length alone. */
export class SentEventReader {
  readonly #decoder = new StringDecoder('utf8');
  #line: string[] = [];
  #size = 0;
  #id: string | undefined;
  #event = '';
  #data: string[] = [];

  /** The events that these bytes complete. */
  *read(bytes: Buffer): Generator<SentEvent, void, undefined> {
    const text = this.#decoder.write(bytes);
    this.#size += text.length;
    if (this.#size > MAX_FRAME_CHARS) throw new Error('an event is too large');
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#line.push(text.slice(start, end));
      const line = this.#line.length === 1 ? (this.#line[0] ?? '') : this.#line.join('');
      this.#line = [];
      start = end + 1;
      const frame = this.#take(line.endsWith('\r') ? line.slice(0, -1) : line);
      if (frame !== undefined) yield frame;
    }
    if (start < text.length) this.#line.push(text.slice(start));
  }

  #take(line: string): SentEvent | undefined {
    if (line === '') return this.#finish();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined; // a comment keeps the connection alive
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id') this.#id = value;
    return undefined;
  }

  #finish(): SentEvent | undefined {
    const [id, event, data] = [this.#id, this.#event, this.#data];
    this.#id = undefined;
    this.#event = '';
    this.#data = [];
    this.#size = 0;
    if (data.length === 0) return undefined;
    return {
      id: id !== undefined && /^\d{1,15}$/u.test(id) ? Number(id) : undefined,
      event,
      data: data.length === 1 ? (data[0] ?? '') : data.join('\n'),
    };
  }
}

/**
 * The events of a response as they arrive; the consumer sets the pace. Breaking out of the loop closes the connection.
 * `isLast` tells after which event the server ends the stream, so that its connection can be used again.
 */
export async function* readFrames(
  response: Readable,
  isLast: (frame: SentEvent) => boolean,
): AsyncGenerator<SentEvent, void, undefined> {
  const reader = new SentEventReader();
  let isOver = false;
  try {
    for (let bytes = await nextBytes(response); bytes !== null; bytes = await nextBytes(response)) {
      for (const frame of reader.read(bytes)) {
        isOver = isLast(frame);
        yield frame;
        if (isOver) return;
      }
    }
  } finally {
    if (isOver) response.on('error', () => undefined).resume();
    else response.destroy();
  }
}

/** Null at the end. */
async function nextBytes(response: Readable): Promise<Buffer | null> {
  for (;;) {
    const bytes = response.read() as Buffer | null;
    if (bytes !== null) return bytes;
    if (response.readableEnded) return null;
    await somethingHappens(response);
  }
}

/** Waits for bytes or the end. A server that sends not even comments is gone, whatever the connection looks like. */
async function somethingHappens(response: Readable): Promise<void> {
  using _ = new Task();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const silence = setTimeout(() => response.destroy(new Error(`silent for ${SILENCE_MS / 1000} seconds`)), SILENCE_MS);
  const close = (): void => reject(response.errored ?? new Error('it was closed'));
  response.on('readable', resolve).on('end', resolve).on('error', reject).on('close', close);
  if (response.closed) close();
  try {
    await promise;
  } finally {
    clearTimeout(silence);
    response.off('readable', resolve).off('end', resolve).off('error', reject).off('close', close);
  }
}
