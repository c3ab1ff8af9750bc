import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import type { ProtocolViolation } from '../../hostile-json.ts';
import { encodeFrame, FrameReader, parseEvent, readFrames } from '../protocol/frames.ts';
import type { ZygoteProcess } from './process.ts';
import { Surveyor, type Overstep, type SurveyAnswer, type SurveyOrder, type Unmeasured } from './surveyor.ts';

const END_GRACE_MS = 3000;
const LAST_EVENTS_MS = 1000;

/** What the zygote reports when it is up: facts about the walls, found by building them. */
export const ZygoteReady = z.object({
  event: z.literal('ready'),
  level: z.enum(['namespaces', 'landlock', 'none']),
  python: z.string(),
  ownUids: z.boolean(),
  proc: z.string(),
  cgroup: z.string(),
  cgroupReason: z.string(),
  /** The controllers that sessions have groups of. */
  cgroupControllers: z.array(z.string()),
  landlock: z.int(),
  threads: z.int(),
  preloadFailures: z.record(z.string(), z.string()),
});
export type ZygoteReady = z.infer<typeof ZygoteReady>;

const ZygoteEvent = z.discriminatedUnion('event', [
  ZygoteReady,
  z.object({ event: z.literal('unavailable'), problem: z.string(), isTemporary: z.boolean() }),
  z.object({ event: z.literal('entered'), groupDirectories: z.array(z.string()) }),
  z.object({
    event: z.literal('opened'),
    enclosure: z.string(),
    uid: z.int(),
    /** By which the connections of its worker are known. */
    ticket: z.string(),
    place: z.object({
      workspace: z.string(),
      pid1: z.int(),
      worker: z.int(),
      group: z.string().nullable(),
    }),
  }),
  z.object({ event: z.literal('failed'), enclosure: z.string(), problem: z.string() }),
  z.object({
    event: z.literal('exited'),
    enclosure: z.string(),
    code: z.int().nullable(),
    signal: z.int().nullable(),
    cause: z.string().nullable(),
    problem: z.string().nullable(),
  }),
  z.object({
    event: z.literal('ended'),
    enclosure: z.string(),
    command: z.int(),
    code: z.int().nullable(),
    signal: z.int().nullable(),
    cause: z.string().nullable(),
  }),
  z.object({ event: z.literal('gone'), enclosure: z.string(), cause: z.string().nullable() }),
  z.object({ event: z.literal('unsurveyed') }),
  z.object({ event: z.literal('answer'), request: z.int(), problem: z.string().nullable() }),
]);
type ZygoteEvent = z.infer<typeof ZygoteEvent>;

/** A fact about one enclosure, decided outside of it. */
export type EnclosureEvent = Extract<ZygoteEvent, { enclosure: string }> | Overstep | Unmeasured;
/** Where the processes and files of an enclosure are, as the zygote and the surveyor see them. */
export type Place = Extract<ZygoteEvent, { event: 'opened' }>['place'];

/** A command about an enclosure that has no answer of its own; events follow. */
export interface EnclosureOrder {
  readonly op: 'open' | 'close';
  readonly [field: string]: unknown;
}

/** Something that the pid 1 of an enclosure does, and answers. */
export type PidOneRequest =
  | { readonly op: 'interrupt'; readonly pid: number }
  | { readonly op: 'wake'; readonly pid: number; readonly dormant: readonly number[] }
  | { readonly op: 'sweep'; readonly keep: readonly number[]; readonly spares: boolean }
  | { readonly op: 'exec'; readonly command: number; readonly ticket: string }
  | { readonly op: 'signal'; readonly command: number; readonly signal: number }
  | { readonly op: 'oomed' };

/** The warm template process, seen from outside. */
export class Zygote implements AsyncDisposable {
  readonly exited: Promise<void>;
  #groupDirectories: readonly string[] = [];
  readonly #child: ChildProcess;
  readonly #control: Socket;
  readonly #surveyor: Surveyor;
  readonly #listeners = new Map<string, (event: EnclosureEvent) => void>();
  readonly #requests = new Map<number, (problem: string | null) => void>();
  readonly #first = Promise.withResolvers<ZygoteReady>();
  #nextRequest = 1;
  #hasEnded = false;
  /** How it broke the protocol, if it did. */
  #violation: string | null = null;
  #hasProvenWalls = false;

  constructor({ child, control, surveyor, ended }: ZygoteProcess) {
    this.#child = child;
    this.#control = control;
    readFrames(this.#control, new FrameReader(), {
      frame: (frame) => {
        if (this.#violation === null) this.#onEvent(parseEvent(ZygoteEvent, frame));
      },
      violation: (error) => this.#onViolation(error),
    });
    this.#surveyor = new Surveyor(surveyor, {
      overstepped: (overstep) => this.#listeners.get(overstep.enclosure)?.(overstep),
      unmeasured: (unmeasured) => this.#listeners.get(unmeasured.enclosure)?.(unmeasured),
      replace: (token) => this.#write({ op: 'survey', token }),
    });
    this.exited = this.#watchExit(ended);
    this.#first.promise.catch(() => undefined); // `warmUp` reports it
  }

  /** Waits until the process is warm, and ends it otherwise. If the machine does not allow it, the error says why. */
  async warmUp(signal?: AbortSignal): Promise<ZygoteReady> {
    const abort = (): void => void this.close();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      signal?.throwIfAborted();
      return await this.#first.promise;
    } catch (error) {
      await this.close();
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Where it makes control groups. What it leaves there is for us to remove. */
  get groupDirectories(): readonly string[] {
    return this.#groupDirectories;
  }

  get isAlive(): boolean {
    return !this.#hasEnded;
  }

  /** Passes the events of one enclosure to a listener from now on. */
  listen(enclosure: string, listener: (event: EnclosureEvent) => void): void {
    if (this.#hasEnded) queueMicrotask(() => listener({ event: 'gone', enclosure, cause: 'zygote' }));
    else this.#listeners.set(enclosure, listener);
  }

  send(enclosure: string, order: EnclosureOrder): void {
    this.#write({ enclosure, ...order, ...(order.op === 'open' && { isFirst: !this.#hasProvenWalls }) });
  }

  /** Has the surveyor measure an enclosure. Code runs in it, so its worker has found its walls closed. */
  survey(enclosure: string, order: SurveyOrder): void {
    this.#hasProvenWalls = true;
    this.#surveyor.order(enclosure, order);
  }

  /** Asks the surveyor something. */
  askSurveyor(op: string, fields: Readonly<Record<string, unknown>>): Promise<SurveyAnswer> {
    return this.#surveyor.ask(op, fields);
  }

  /** Has the pid 1 of an enclosure do something. The answer is what went wrong, or null. */
  ask(enclosure: string, request: PidOneRequest): Promise<string | null> {
    if (this.#hasEnded) return Promise.resolve('the zygote is gone');
    const number = this.#nextRequest;
    this.#nextRequest += 1;
    const { promise, resolve } = Promise.withResolvers<string | null>();
    this.#requests.set(number, resolve);
    this.#write({ enclosure, ...request, request: number });
    return promise;
  }

  /** Ends the zygote and with it every session. It ends when its control channel closes, or else by SIGKILL. */
  async close(): Promise<void> {
    this.#surveyor[Symbol.dispose]();
    this.#control.end(); // what it says until it ends is still read
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_GRACE_MS);
    await this.exited;
    clearTimeout(timer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #watchExit(ended: Promise<string>): Promise<void> {
    const stderr = await ended;
    if (!this.#control.closed) {
      const closed = new Promise<void>((resolve) => this.#control.once('close', resolve));
      await Promise.race([closed, sleep(LAST_EVENTS_MS, undefined, { ref: false })]);
    }
    this.#hasEnded = true; // last, so that calls that open a session meanwhile are told once everything is known
    this.#surveyor[Symbol.dispose]();
    this.#control.destroy();
    this.#first.reject(
      new VivariumError(
        'ENGINE_FAILED',
        `The zygote ended before it was ready. ${stderr === '' ? 'It said nothing.' : `It said: ${stderr}`} Run \`vivarium doctor\`.`,
      ),
    );
    for (const answer of this.#requests.values()) answer('the zygote is gone');
    this.#requests.clear();
    const lastLine = stderr.split('\n').at(-1) ?? '';
    const problem = this.#violation === null ? lastLine : `it broke the protocol: ${this.#violation}`;
    const cause = problem === '' ? 'zygote' : `zygote: ${problem}`;
    for (const [enclosure, listener] of this.#listeners) listener({ event: 'gone', enclosure, cause });
    this.#listeners.clear();
  }

  #write(message: object): void {
    if (!this.#hasEnded) this.#control.write(encodeFrame(message));
  }

  /** One that says what it should not is ended, with its sessions: facts that come from it cannot be believed. */
  #onViolation({ message }: ProtocolViolation): void {
    this.#violation ??= message;
    this.#first.reject(
      new VivariumError('ENGINE_FAILED', `The zygote broke the protocol: ${message}. Run \`vivarium doctor\`.`),
    );
    this.#child.kill('SIGKILL');
  }

  #onEvent(event: ZygoteEvent): void {
    switch (event.event) {
      case 'ready':
        this.#first.resolve(event);
        break;
      case 'unavailable':
        this.#first.reject(event.isTemporary ? shortage(event.problem) : unavailable(event.problem));
        break;
      case 'entered':
        this.#groupDirectories = event.groupDirectories;
        break;
      case 'unsurveyed':
        this.#surveyor.restart();
        break;
      case 'answer':
        this.#requests.get(event.request)?.(event.problem);
        this.#requests.delete(event.request);
        break;
      default: {
        const listener = this.#listeners.get(event.enclosure);
        if (event.event === 'gone' || event.event === 'failed') {
          this.#listeners.delete(event.enclosure);
          this.#surveyor.forget(event.enclosure);
        }
        listener?.(event);
      }
    }
  }
}

function unavailable(problem: string): VivariumError {
  return new VivariumError('SANDBOX_UNAVAILABLE', problem);
}

/** Weaker isolation would not help. */
function shortage(problem: string): VivariumError {
  return new VivariumError(
    'ENGINE_FAILED',
    `The zygote could not start, because the machine has no room for it at the moment: ${problem}. Try again.`,
  );
}
