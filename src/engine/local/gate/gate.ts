import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import type { NetworkEntry } from '../../../network/list.ts';
import { within } from '../../deadline.ts';
import { encodeFrame, FrameReader, parseEvent, readFrames } from '../protocol/frames.ts';
import { GATE_FILE } from '../../python-files.ts';
import { spawnPython, type PythonProcess } from '../instance/python-process.ts';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 2000;
const SERVE_TIMEOUT_MS = 20_000;
/** A gate that takes longer leaves the numbers of bytes out. */
const TALLY_TIMEOUT_MS = 1000;
const CLOSE_TIMEOUT_MS = 2000;
const MAX_TEXT = 2000;

const Attempt = z.object({
  event: z.literal('attempt'),
  enclosure: z.string(),
  id: z.int(),
  host: z.string().max(MAX_TEXT),
  port: z.int(),
  address: z.string().nullable(),
  decision: z.enum(['allowed', 'refused']),
  reason: z.string().max(MAX_TEXT).nullable(),
});
/** A session wanted to reach something. */
export type NetworkAttempt = z.infer<typeof Attempt>;

const Closed = z.object({
  event: z.literal('closed'),
  enclosure: z.string(),
  id: z.int(),
  sent: z.int(),
  received: z.int(),
});

const Answer = z.object({
  event: z.literal('answer'),
  request: z.int(),
  problem: z.string().nullable(),
  value: z.unknown(),
});
const GateEvent = z.discriminatedUnion('event', [Attempt, Closed, Answer]);
const Tally = z.array(z.tuple([z.int(), z.int(), z.int()]));

/** What passed on one connection so far: its number, the bytes out and the bytes in. */
export type Traffic = z.infer<typeof Tally>[number];

/** Gets what the gate reports of one enclosure. */
export interface NetworkListener {
  onAttempt(attempt: NetworkAttempt): void;
  onClosed(traffic: Traffic): void;
}

/** What a session may reach. */
export interface GateRules {
  readonly allow: readonly NetworkEntry[];
  readonly deny: readonly NetworkEntry[];
  readonly secrets: readonly GateSecret[];
  /** Names that may lead to any address, a private one too. */
  readonly trusted: readonly NetworkEntry[];
}

/** What is put into headers in the place of something that the session knows. */
export interface GateSecret {
  readonly placeholder: string;
  readonly value: string;
  readonly hosts: readonly NetworkEntry[];
}

export interface GateOptions {
  readonly python: string;
  readonly cacheDir: string;
  /** For tests: the name server to ask instead of looking names up as this machine does. */
  readonly resolver?: readonly [string, number] | undefined;
}

interface Order extends GateRules {
  /** Where the pid 1 of the enclosure hands over its listeners. */
  readonly socket: string;
}

type GateProcess = Pick<PythonProcess, 'child' | 'ended'> & { readonly channel: Socket };

type GateAnswer = { readonly value: unknown; readonly problem: string | null; readonly hasEnded?: true };

/** The process that connects sessions to listed hosts, seen from outside. When it ends, another one takes over its orders. */
export class Gate implements AsyncDisposable {
  readonly #options: GateOptions;
  readonly #orders = new Map<string, Order>();
  readonly #listeners = new Map<string, NetworkListener>();
  readonly #questions = new Map<number, (answer: GateAnswer) => void>();
  #process: GateProcess | null = null;
  #nextRequest = 1;
  #restart: NodeJS.Timeout | null = null;
  #startedMs = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #isClosed = false;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** For tests that end it. */
  get pid(): number | undefined {
    return this.#process?.child.pid;
  }

  /** Has the listeners of an enclosure served. Throws if that cannot be done: then the session must not be used. */
  async serve(enclosure: string, order: Order, listener: NetworkListener): Promise<void> {
    this.#orders.set(enclosure, order);
    this.#listeners.set(enclosure, listener);
    const latest = performance.now() + SERVE_TIMEOUT_MS;
    let problem: string | null = 'it did not answer in time';
    while (!this.#isClosed && this.#orders.has(enclosure) && performance.now() < latest) {
      const asking = this.#ask('serve', { enclosure, ...order });
      const answer = await within(latest - performance.now(), asking, null);
      if (answer?.problem === null) return;
      problem = answer?.problem ?? problem;
      if (answer?.hasEnded !== true) break;
      await sleep(this.#pauseMs);
    }
    this.leave(enclosure);
    throw new VivariumError(
      'ENGINE_FAILED',
      `The way of a session to the listed hosts could not be opened: ${problem}. Run \`vivarium doctor\`, or leave out \`network\`.`,
    );
  }

  /** An enclosure is gone. */
  leave(enclosure: string): void {
    const order = this.#orders.get(enclosure);
    this.#orders.delete(enclosure);
    this.#listeners.delete(enclosure);
    if (order === undefined) return;
    this.#process?.channel.write(encodeFrame({ op: 'leave', enclosure }));
    rm(order.socket, { force: true }).catch(() => undefined); // it is removed with its directory at the latest
  }

  /** What has passed on connections that are open now. Everything that happened before was reported when this resolves. */
  async tally(enclosure: string): Promise<readonly Traffic[] | null> {
    if (this.#process === null || !this.#orders.has(enclosure)) return null;
    const answer = await within(TALLY_TIMEOUT_MS, this.#ask('tally', { enclosure }), null);
    return Tally.safeParse(answer?.value).data ?? null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    const running = this.#process;
    running?.channel.destroy(); // it ends by that
    if (running !== null && (await within(CLOSE_TIMEOUT_MS, running.ended, null)) === null)
      running.child.kill('SIGKILL');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #ask(op: string, fields: object): Promise<GateAnswer> {
    const running = (this.#process ??= this.#start());
    const request = this.#nextRequest;
    this.#nextRequest += 1;
    const { promise, resolve } = Promise.withResolvers<GateAnswer>();
    this.#questions.set(request, resolve);
    running.channel.write(encodeFrame({ ...fields, op, request }));
    return promise;
  }

  #start(): GateProcess {
    const { python, cacheDir, resolver = null } = this.#options;
    this.#startedMs = performance.now();
    const { child, channels, ended } = spawnPython({ python, cacheDir, file: GATE_FILE, channels: 1 });
    const running = { child, channel: channels[0] as Socket, ended };
    readFrames(running.channel, new FrameReader(), {
      frame: (frame) => this.#onEvent(parseEvent(GateEvent, frame)),
      violation: () => running.child.kill('SIGKILL'),
    });
    running.channel.write(encodeFrame({ op: 'configure', resolver }));
    void running.ended.then((stderr) => this.#onEnd(running, stderr));
    return running;
  }

  /** Its sessions reach nothing until the next one has their listeners. One that ends again and again comes later. */
  #onEnd(running: GateProcess, stderr: string): void {
    if (this.#process !== running) return;
    this.#process = null;
    running.channel.destroy();
    const problem = `the gate has ended (${stderr.split('\n').at(-1) || 'killed'})`;
    const questions = [...this.#questions.values()];
    this.#questions.clear();
    const hasLasted = performance.now() - this.#startedMs > LONGEST_PAUSE_MS;
    this.#pauseMs = hasLasted ? FIRST_PAUSE_MS : Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    for (const answer of questions) answer({ value: null, problem, hasEnded: true });
    if (this.#isClosed || this.#orders.size === 0) return;
    this.#restart = setTimeout(() => this.#takeOver(), this.#pauseMs).unref();
  }

  #takeOver(): void {
    this.#restart = null;
    if (this.#isClosed) return;
    for (const [enclosure, order] of this.#orders) void this.#ask('serve', { enclosure, ...order });
  }

  #onEvent(event: z.infer<typeof GateEvent>): void {
    switch (event.event) {
      case 'attempt':
        this.#listeners.get(event.enclosure)?.onAttempt(event);
        break;
      case 'closed':
        this.#listeners.get(event.enclosure)?.onClosed([event.id, event.sent, event.received]);
        break;
      case 'answer': {
        const { request, value, problem } = event;
        this.#questions.get(request)?.({ value, problem });
        this.#questions.delete(request);
      }
    }
  }
}
