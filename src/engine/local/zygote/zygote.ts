import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import { encodeFrame, FrameReader, readFrames } from '../frames.ts';
import type { ZygoteProcess } from './process.ts';

const END_GRACE_MS = 3000;

/** What the zygote says when it is up: facts about the walls that were observed by building them. */
export const Ready = z.object({
  event: z.literal('ready'),
  level: z.enum(['namespaces', 'landlock', 'none']),
  python: z.string(),
  ownUids: z.boolean(),
  proc: z.string(),
  cgroup: z.string(),
  cgroupReason: z.string(),
  groupDirectories: z.array(z.string()),
  landlock: z.int(),
  threads: z.int(),
  preloadFailures: z.record(z.string(), z.string()),
});
export type Ready = z.infer<typeof Ready>;

const ZygoteEvent = z.discriminatedUnion('event', [
  Ready,
  z.object({ event: z.literal('unavailable'), problem: z.string() }),
  z.object({ event: z.literal('opened'), enclosure: z.string(), workspace: z.string(), uid: z.int() }),
  z.object({ event: z.literal('failed'), enclosure: z.string(), problem: z.string() }),
  z.object({
    event: z.literal('exited'),
    enclosure: z.string(),
    code: z.int().nullable(),
    signal: z.int().nullable(),
    cause: z.string().nullable(),
    problem: z.string().nullable(),
  }),
  z.object({ event: z.literal('gone'), enclosure: z.string(), cause: z.string().nullable() }),
  z.object({
    event: z.literal('overstepped'),
    enclosure: z.string(),
    cause: z.enum(['memory', 'cpu', 'workspace', 'busy']),
    leftovers: z.int().nonnegative(),
  }),
  z.object({ event: z.literal('answer'), request: z.int(), problem: z.string().nullable() }),
]);
type ZygoteEvent = z.infer<typeof ZygoteEvent>;

/** A fact about one session, decided outside of it. */
export type SessionFact = Extract<ZygoteEvent, { enclosure: string }>;
export type Overstep = Extract<ZygoteEvent, { event: 'overstepped' }>;

/** A command that has no answer of its own: facts follow. */
interface ZygoteCommand {
  readonly op: 'open' | 'close' | 'watch' | 'unwatch' | 'rest';
  readonly enclosure: string;
  readonly [field: string]: unknown;
}

/** The warm template process, seen from the host. */
export class Zygote implements AsyncDisposable {
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #control: Socket;
  readonly #listeners = new Map<string, (fact: SessionFact) => void>();
  readonly #requests = new Map<number, (problem: string | null) => void>();
  readonly #first = Promise.withResolvers<Ready>();
  #nextRequest = 1;
  #hasEnded = false;

  private constructor({ child, control, ended }: ZygoteProcess) {
    this.#child = child;
    this.#control = control;
    readFrames(this.#control, new FrameReader(), {
      frame: ({ header }) => this.#onEvent(ZygoteEvent.parse(header)),
      violation: (error) => this.#first.reject(error),
    });
    this.exited = this.#watchExit(ended);
    this.#first.promise.catch(() => undefined); // reported by whoever awaits `start`
  }

  /** Waits until a process that knows its configuration is warm; what the machine refuses is an error that says why. */
  static async start(process: ZygoteProcess, signal?: AbortSignal): Promise<{ zygote: Zygote; ready: Ready }> {
    const zygote = new Zygote(process);
    const abort = (): void => void zygote.close();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      signal?.throwIfAborted();
      return { zygote, ready: await zygote.#first.promise };
    } catch (error) {
      await zygote.close();
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  get isAlive(): boolean {
    return !this.#hasEnded;
  }

  /** Hears the facts of one session from now on. */
  listen(enclosure: string, listener: (fact: SessionFact) => void): void {
    if (this.#hasEnded) queueMicrotask(() => listener({ event: 'gone', enclosure, cause: 'zygote' }));
    else this.#listeners.set(enclosure, listener);
  }

  tell(command: ZygoteCommand): void {
    if (!this.#hasEnded) this.#control.write(encodeFrame(command));
  }

  /** Has a session's pid 1 do something; the answer is null or what went wrong. */
  ask(
    command:
      | { op: 'interrupt'; enclosure: string; pid: number }
      | { op: 'wake'; enclosure: string; pid: number; dormant: number[] }
      | { op: 'sweep'; enclosure: string; keep: number[] }
      | { op: 'oomed'; enclosure: string },
  ): Promise<string | null> {
    if (this.#hasEnded) return Promise.resolve('the zygote is gone');
    const request = this.#nextRequest;
    this.#nextRequest += 1;
    const { promise, resolve } = Promise.withResolvers<string | null>();
    this.#requests.set(request, resolve);
    this.#control.write(encodeFrame({ ...command, request }));
    return promise;
  }

  /** Ends the zygote and with it every session. Closing the control channel is enough; SIGKILL if it is not. */
  async close(): Promise<void> {
    this.#control.destroy();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_GRACE_MS);
    await this.exited;
    clearTimeout(timer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #watchExit(ended: Promise<string>): Promise<void> {
    const words = await ended;
    this.#hasEnded = true;
    this.#control.destroy();
    this.#first.reject(
      new VivariumError(
        'ENGINE_FAILED',
        `The zygote ended before it was ready. ${words === '' ? 'It said nothing.' : `It said: ${words}`} Run \`vivarium doctor\`.`,
      ),
    );
    for (const answer of this.#requests.values()) answer('the zygote is gone');
    this.#requests.clear();
    const lastWords = words.split('\n').at(-1) ?? '';
    const cause = lastWords === '' ? 'zygote' : `zygote: ${lastWords}`;
    for (const [enclosure, listener] of this.#listeners) listener({ event: 'gone', enclosure, cause });
    this.#listeners.clear();
  }

  #onEvent(event: ZygoteEvent): void {
    switch (event.event) {
      case 'ready':
        this.#first.resolve(event);
        break;
      case 'unavailable':
        this.#first.reject(new VivariumError('SANDBOX_UNAVAILABLE', event.problem));
        break;
      case 'answer':
        this.#requests.get(event.request)?.(event.problem);
        this.#requests.delete(event.request);
        break;
      default: {
        const listener = this.#listeners.get(event.enclosure);
        if (event.event === 'gone' || event.event === 'failed') this.#listeners.delete(event.enclosure);
        listener?.(event);
      }
    }
  }
}
