import { setTimeout as sleep } from 'node:timers/promises';
import { VivariumError } from '../../../errors.ts';
import { within } from '../../deadline.ts';
import { ProtocolViolation } from '../../hostile-json.ts';
import { Enclosure, type EnclosureParts } from '../enclosure/enclosure.ts';
import type { Exit } from '../enclosure/exit.ts';
import { EnclosureNetwork } from '../gate/enclosure-network.ts';
import type { Gate } from '../gate/gate.ts';
import { asSeenInside, type EnclosureOptions } from '../enclosure/options.ts';
import type { WorkerConnections, WorkerSocket } from '../instance/worker-socket.ts';
import type { WorkerFrame } from '../protocol/worker-frame.ts';
import type { Overstep } from '../zygote/surveyor.ts';
import { WorkerChannel } from './channel.ts';
import { Twins, TWIN_TIMEOUT_MS } from './twins.ts';

const OPEN_TIMEOUT_MS = 30_000;
/** The end of a process is reported as soon as it was swept away, on a busy machine a little later. */
const EXIT_TIMEOUT_MS = 3000;

/** The current user of the worker: a run, or a question between runs. */
export interface WorkerUser {
  onFrame(frame: WorkerFrame): void;
  onExit?(exit: Exit): void;
  /** The worker has made a twin, or says why it cannot. */
  onTwin?(): void;
  /** Without this, the event goes to the owner. */
  onOverstep?(cause: Overstep['cause']): void;
}

/** The session that the worker belongs to. */
export interface WorkerOwner {
  /** The worker has ended, whether it was used or not. */
  onExit(exit: Exit): void;
  /** A limit was passed while no run was on. */
  onOverstep(overstep: Overstep): void;
}

export interface WorkerParts extends EnclosureParts {
  readonly gate: Gate;
  readonly workerSocket: WorkerSocket;
}

/** The process that runs the code of a session. It stays the same for its users when a twin takes its part. */
export class Worker {
  readonly enclosure: Enclosure;
  readonly channel: WorkerChannel;
  readonly twins: Twins;
  /** A run that begins before this time is part of a burst. */
  burstUntilMs = 0;
  readonly #ready = Promise.withResolvers<void>();
  #pid = 0;
  #startedEmpty = false;
  #exit = Promise.withResolvers<Exit>();
  #hasExited = false;
  #violation: string | null = null;
  #user: WorkerUser | null = null;
  #owner: WorkerOwner | null = null;
  #questions = 0;

  private constructor(enclosure: Enclosure, connections: WorkerConnections) {
    this.enclosure = enclosure;
    this.channel = new WorkerChannel(connections, {
      onFrame: (frame) => this.#onFrame(frame),
      onViolation: (error) => this.#onViolation(error),
    });
    this.twins = new Twins(enclosure, this.channel);
    enclosure.occupy({
      pids: () => ({ worker: this.#pid, dormant: this.twins.pids }),
      onExit: (exit) => this.#onExit(exit),
      onOverstep: (overstep) => this.#onOverstep(overstep),
    });
  }

  /** Opens an enclosure and waits for the worker in it. */
  static async open(
    name: string,
    parts: WorkerParts,
    options: EnclosureOptions,
    signal?: AbortSignal,
  ): Promise<Worker> {
    signal?.throwIfAborted();
    const { workerSocket, gate } = parts;
    const { mounts } = options;
    const { network: list, secrets = {}, trustedHosts: trusted } = options;
    const network = typeof list === 'object' ? new EnclosureNetwork(gate, name, { list, secrets, trusted }) : null;
    const enclosure = new Enclosure(name, parts, { options, network });
    const settled = new AbortController();
    const givenUp = signal === undefined ? settled.signal : AbortSignal.any([signal, settled.signal]);
    const unopened = Promise.race([enclosure.failed, timeout(OPEN_TIMEOUT_MS, givenUp)]);
    let worker: Worker | undefined;
    let ticket = '';
    workerSocket.offer(name, { mounts, ...(network !== null && { targets: network.targets }) });
    enclosure.open();
    try {
      ticket = await Promise.race([enclosure.opened, unopened]);
      worker = new Worker(enclosure, await Promise.race([workerSocket.claim(ticket), unopened]));
      if (mounts.length > 0) worker.channel.send({ type: 'mounts', mounts: mounts.map(asSeenInside) });
      await Promise.race([Promise.all([worker.#ready.promise, network?.open(workerSocket.directory)]), unopened]);
      return worker;
    } catch (error) {
      workerSocket.forget(ticket);
      await (worker ?? enclosure).close();
      signal?.throwIfAborted(); // with the caller's own reason
      throw error;
    } finally {
      workerSocket.withdraw(name);
      settled.abort(); // neither a timer nor a listener on the caller's signal stays
    }
  }

  /** Whether its workspace held nothing when it began. */
  get startedEmpty(): boolean {
    return this.#startedEmpty;
  }

  /** Resolves when the process that is the worker now has ended. */
  get exited(): Promise<Exit> {
    return this.#exit.promise;
  }

  get isAlive(): boolean {
    return !this.#hasExited;
  }

  /** How it broke the protocol, if it did. */
  get violation(): string | null {
    return this.#violation;
  }

  belongTo(owner: WorkerOwner): void {
    this.#owner = owner;
  }

  /** From now on the user gets what the worker sends. A frame that comes while there is no user breaks the protocol. */
  use(user: WorkerUser): void {
    this.#user = user;
  }

  /** Whether a run or a question is on. What a run has told may still be on its way to a slow listener. */
  get isInUse(): boolean {
    return this.#user !== null;
  }

  release(): void {
    this.#user = null;
  }

  /** Sends variables of the environment. They never pass the zygote, whose memory every later session inherits. */
  setEnvironment(variables: Readonly<Record<string, string>>): void {
    if (Object.keys(variables).length > 0) this.channel.send({ type: 'environment', variables });
  }

  /** Asks something between runs. Null if the worker is lost; one that takes longer than a run may is ended. */
  async ask(question: Readonly<Record<string, unknown>>): Promise<WorkerFrame | null> {
    this.#questions += 1;
    const id = `question-${this.#questions}`;
    const { promise, resolve } = Promise.withResolvers<WorkerFrame | null>();
    if (!this.isAlive) return null;
    this.use({
      onFrame: (frame) => {
        if ('id' in frame && frame.id === id) resolve(frame);
      },
      onExit: () => resolve(null),
    });
    const timer = setTimeout(() => void this.end(), this.enclosure.options.limits.timeoutMs);
    try {
      this.channel.send({ ...question, id });
      return await promise;
    } finally {
      clearTimeout(timer);
      this.release();
      this.enclosure.watch.rest(false);
    }
  }

  /**
   * Raises KeyboardInterrupt in a run. The frame comes before the signal, so that a worker that is not ready for the
   * signal yet finds the frame when it is.
   */
  async interrupt(runId: string): Promise<string | null> {
    // A worker that has been stopped does not read, and must be killed all the same.
    await within(this.enclosure.options.limits.graceMs, this.channel.sent({ type: 'interrupt', id: runId }), undefined);
    return this.enclosure.interrupt(this.#pid);
  }

  /**
   * Ends the worker and everything it started, and keeps the twins. One that cannot be ended alone costs everything.
   * Commands go on, unless there is a reason to end them.
   */
  async end(commandsEndFor: string | null = null): Promise<void> {
    if (!this.isAlive) return;
    const { exited } = this;
    await this.enclosure.sweep(this.twins.pids, commandsEndFor);
    const hasExited = await within(EXIT_TIMEOUT_MS, exited, null);
    if (hasExited === null) await this.enclosure.end('its worker could not be ended alone');
  }

  /** Ends what the run started besides the worker and its twins. */
  async endLeftovers(commandsEndFor: string | null = null): Promise<void> {
    await this.enclosure.sweep([this.#pid, ...this.twins.pids], commandsEndFor);
    if (!this.isAlive) return;
    if (!(await this.twins.renew())) await this.end(); // a twin that was made during the sweep may have been swept away
  }

  /** Removes every file of a workspace that was empty when the session began. Says what became of the files. */
  async clearFiles(): Promise<string> {
    const files = await this.twins.clearFiles();
    if (files === null) await this.end();
    return files ?? 'kept in part: the interpreter ended while it removed them';
  }

  /** After a loss, the twin of the last known state takes over. False if there is none. */
  async recover(): Promise<boolean> {
    await this.channel.drain(); // the frame that names the twin may still be unread
    this.#violation = null;
    const resumed = await this.twins.wakePresent();
    if (resumed !== null) await this.#continueAs(resumed.pid);
    return resumed !== null;
  }

  /** Goes back to the state before the last change. Says what became of the files, or null if the twin was lost too. */
  async rollBack(): Promise<string | null> {
    const { exited } = this;
    const { previousPid } = this.twins;
    if (previousPid === null) return null;
    await this.enclosure.sweep([previousPid], 'the session was rolled back');
    await exited;
    this.#violation = null;
    const resumed = await this.twins.wakePrevious();
    if (resumed !== null) await this.#continueAs(resumed.pid);
    return resumed?.files ?? null;
  }

  async close(): Promise<void> {
    await this.enclosure.close();
    this.channel.close();
  }

  async #continueAs(pid: number): Promise<void> {
    this.#pid = pid;
    this.#hasExited = false;
    this.#exit = Promise.withResolvers<Exit>();
    const marks = this.channel.reachMarks();
    while (!(await within(TWIN_TIMEOUT_MS, marks, false)) && this.channel.isOutputHeldUp); // a slow consumer is waited for
  }

  #onFrame(frame: WorkerFrame): void {
    if (this.#violation !== null) return; // it is being ended, and what it says does not count any more
    if (frame.type === 'ready' && this.#pid === 0) {
      this.#pid = frame.pid;
      this.#startedEmpty = frame.isEmpty;
      this.#ready.resolve();
    } else if (frame.type === 'twin' && frame.pid === this.#pid) {
      throw new ProtocolViolation('a twin that is the worker itself'); // twins are spared when a run is ended
    } else if (this.twins.accept(frame)) {
      if (frame.type === 'twin') this.enclosure.watch.renew();
      if (frame.type === 'twin' || frame.type === 'unprotected') this.#user?.onTwin?.();
    } else if (this.#user !== null) {
      this.#user.onFrame(frame);
    } else throw new ProtocolViolation(`a frame that nobody asked for: ${frame.type}`);
  }

  #onViolation(error: ProtocolViolation): void {
    if (this.#violation !== null || this.#hasExited) return;
    this.#violation = error.message;
    void this.end();
  }

  #onExit(exit: Exit): void {
    this.twins.onExit();
    if (this.#hasExited && !exit.isGone) return;
    const isFirst = !this.#hasExited;
    this.#hasExited = true;
    this.#exit.resolve(exit);
    this.#user?.onExit?.(exit);
    if (isFirst) this.#owner?.onExit(exit);
  }

  /** What is measured between runs concerns a run only if it is about what the session holds, not about time. */
  #onOverstep(overstep: Overstep): void {
    const { cause, order } = overstep;
    const { watch } = this.enclosure;
    if (!watch.confirm(order)) return;
    if (this.#user?.onOverstep === undefined) this.#owner?.onOverstep(overstep);
    else if (!watch.isResting || cause === 'memory' || cause === 'workspace') this.#user.onOverstep(cause);
  }
}

async function timeout(ms: number, signal?: AbortSignal): Promise<never> {
  await sleep(ms, undefined, { ref: false, ...(signal && { signal }) });
  throw new VivariumError(
    'ENGINE_FAILED',
    `A session did not open within ${ms / 1000} s. The machine may be overloaded; try again.`,
  );
}
