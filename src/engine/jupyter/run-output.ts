import { z } from 'zod';
import type { Event, Listener } from '../../execution/event.ts';
import type { Json, Result, StreamBytes } from '../../execution/execution.ts';
import { inLine } from '../../text/in-line.ts';
import { EventQueue } from '../event-queue.ts';
import type { KernelMessage } from './kernel/message.ts';

/** How much waits for a slow consumer. A WebSocket cannot be paused, so what exceeds it is dropped, and the result says so. */
const MAX_WAITING_BYTES = 32 << 20;
const MAX_RESULTS = 10_000;
const MAX_RESULT_BYTES = 32 << 20;
/** What servers print in place of output above their limit. They give no other sign. */
const SERVER_DROPS = /^IOPub (data|message) rate exceeded/m;

/** What our code in the kernel adds to what it displays. */
const DisplayMetadata = z.object({
  vivarium: z.object({
    kind: z.enum(['result', 'display', 'figure']),
    chart: z.custom<Json>((value) => value !== undefined).nullable(),
    title: z
      .string()
      .max(1000)
      .transform((title) => inLine(title))
      .nullable(),
    picture: z.int().positive().nullable(),
  }),
});

/** Turns the messages of a run into events, and keeps them for a slow listener. */
export class RunOutput {
  readonly #queue: EventQueue<Event>;
  readonly #bytes = { stdout: 0, stderr: 0 };
  #isBehind = false;
  #isToBeCleared = false;
  #results = 0;
  #resultBytes = 0;
  #dropped: string | null = null;

  /** `onLeft`: the listener has thrown, and gets no more events. */
  constructor(listener: Listener, onLeft: () => void) {
    this.#queue = new EventQueue({
      listener,
      onPressure: (isFull) => (this.#isBehind = isFull),
      onLeft,
      highWater: MAX_WAITING_BYTES,
    });
  }

  get events(): EventQueue<Event> {
    return this.#queue;
  }

  get outputBytes(): StreamBytes {
    return { ...this.#bytes };
  }

  /** Why output is missing, if some is. */
  get dropped(): string | null {
    return this.#dropped;
  }

  /** Notes that output is missing. The first reason is the one that is reported. */
  miss(reason: string): void {
    this.#dropped ??= reason;
  }

  add(message: KernelMessage): void {
    switch (message.type) {
      case 'stream':
        this.#print(message.content);
        break;
      case 'display_data':
      case 'update_display_data':
        this.#show('display', message.content);
        break;
      case 'execute_result':
        this.#show('result', message.content);
        break;
      case 'clear_output':
        this.#isToBeCleared = true;
        if (!message.content.wait) this.#clear();
        break;
      case 'oversized':
        this.miss(`a message of ${message.content} characters, which is more than one may have, was left out`);
        break;
      case 'status':
      case 'execute_input':
      case 'execute_reply':
        break;
    }
  }

  #print({ name: stream, text }: { readonly name: 'stdout' | 'stderr'; readonly text: string }): void {
    if (this.#isToBeCleared) this.#clear();
    this.#bytes[stream] += Buffer.byteLength(text);
    if (stream === 'stderr' && SERVER_DROPS.test(text)) {
      this.miss('the Jupyter server dropped output above its rate limit (iopub_data_rate_limit)');
    }
    if (this.#isBehind) this.miss('output came faster than it was read');
    else this.#queue.push({ type: 'output', stream, text }, text.length);
  }

  /** What was cleared no longer counts, and what nobody has received yet need not be passed on. */
  #clear(): void {
    this.#isToBeCleared = false;
    this.#results = this.#resultBytes = 0;
    this.#queue.retract(
      ({ type }) => type === 'result',
      ({ type }) => type === 'clear',
    );
    this.#queue.push({ type: 'clear' }, 0);
  }

  #show(kind: 'display' | 'result', { data, metadata }: DisplayContent): void {
    if (this.#isToBeCleared) this.#clear();
    const about = DisplayMetadata.safeParse(metadata).data?.vivarium;
    const result = toResult(kind, data, about);
    const picture = about?.picture ?? undefined;
    const size = Object.values(result.data).reduce((sum, text) => sum + text.length, 0);
    this.#results += 1;
    this.#resultBytes += size;
    if (this.#results > MAX_RESULTS || this.#resultBytes > MAX_RESULT_BYTES) {
      this.miss(`results above ${MAX_RESULTS} or ${MAX_RESULT_BYTES} bytes were left out`);
    } else this.#queue.push({ type: 'result', result, ...(picture !== undefined && { picture }) }, size);
  }
}

type DisplayFacts = z.infer<typeof DisplayMetadata>['vivarium'];

interface DisplayContent {
  readonly data: Readonly<Record<string, Json>>;
  readonly metadata: Readonly<Record<string, Json>>;
}

function toResult(kind: 'display' | 'result', forms: DisplayContent['data'], about: DisplayFacts | undefined): Result {
  const texts = Object.entries(forms).map(([mime, form]): [string, string] => [
    mime,
    typeof form === 'string' ? form : JSON.stringify(form),
  ]);
  const data = { 'text/plain': '', ...Object.fromEntries(texts) };
  if (about === undefined) return { kind: isPlot(data) ? 'figure' : kind, data };
  const { chart, title } = about;
  return { kind: about.kind, data, ...(chart !== null && { chart }), ...(title !== null && { title }) };
}

/** What matplotlib's own notebook backend publishes, if a program has chosen it. */
function isPlot(data: Readonly<Record<string, string>>): boolean {
  return 'image/png' in data && (data['text/plain'] ?? '').startsWith('<Figure size');
}
