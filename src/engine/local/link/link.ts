import { randomBytes, timingSafeEqual } from 'node:crypto';
import path from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { VivariumError } from '../../../errors.ts';
import { ProtocolViolation } from '../../hostile-json.ts';
import { encodeFrame, FrameReader, readFrames } from '../frames.ts';
import { openCommand, type Exit, type LinkHost, type LinkOptions, type Place } from './options.ts';
import { Marks } from './marks.ts';
import { OutputPipe } from './output-pipe.ts';
import type { Channels } from '../premises/reception.ts';
import { Vigil, type Subject } from './vigil.ts';
import { parseWorkerFrame, type WorkerFrame } from './worker-frame.ts';
import type { Overstep, SessionFact, Zygote } from '../zygote/zygote.ts';

const OPEN_TIMEOUT_MS = 30_000;
const PROMOTE_TIMEOUT_MS = 3000;

interface Twin {
  readonly pid: number;
  readonly token: Buffer;
}

/** The host's hold on one enclosure: its channels, its worker and the twins behind it. */
export class Link {
  readonly name: string;
  readonly vigil: Vigil;
  readonly marks = new Marks();
  options: LinkOptions;
  stdout!: OutputPipe;
  stderr!: OutputPipe;
  place!: Place;
  wasBornEmpty = false;
  /** A run that begins before then is one of a burst. */
  burstUntilMs = 0;
  /** Hears frames while a run is on; what comes at other times breaks the rules. */
  onFrame: ((frame: WorkerFrame) => void) | null = null;
  onOverstepped: ((cause: Overstep['cause']) => void) | null = null;
  /** Hears of a limit that was passed while no run was on. */
  onBackground: ((overstep: Overstep) => void) | null = null;
  /** Hears of the worker's end while a run is on. A race against `exited` would leave something behind in it each time. */
  onExit: ((exit: Exit) => void) | null = null;
  readonly #host: LinkHost;
  readonly #reader = new FrameReader();
  readonly #gone = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();
  #channels: Channels | null = null;
  #pid = 0;
  #present: Twin | null = null;
  #previous: Twin | null = null;
  #exit = Promise.withResolvers<Exit>();
  #hasExited = false;
  #isGone = false;
  #isClosing = false;
  #violation: string | null = null;
  #renewed: (() => void) | null = null;
  #cleared: ((files: string) => void) | null = null;
  #changes = 0;
  #resumed: ((frame: Extract<WorkerFrame, { type: 'resumed' }>) => void) | null = null;
  #failed: (() => void) | null = null;

  private constructor(name: string, host: LinkHost, options: LinkOptions) {
    this.name = name;
    this.#host = host;
    this.options = options;
    this.vigil = new Vigil(host.zygote, () => this.#whatToWatch());
    for (const promise of [this.#opened.promise, this.#ready.promise]) promise.catch(() => undefined); // `open` reports
  }

  /** Opens a session's process: an enclosure that waits for it, or one built on demand. */
  static async open(name: string, host: LinkHost, options: LinkOptions, signal?: AbortSignal): Promise<Link> {
    signal?.throwIfAborted();
    const link = new Link(name, host, options);
    const token = randomBytes(16);
    const channels = host.reception.expect(name, (said) => isSame(Buffer.from(said, 'hex'), token));
    host.zygote.listen(name, (fact) => link.#onFact(fact));
    host.zygote.tell({ op: 'open', enclosure: name, token: token.toString('hex'), ...openCommand(options) });
    try {
      await Promise.race([link.#connect(channels), timeout(OPEN_TIMEOUT_MS, signal)]);
      return link;
    } catch (error) {
      host.reception.forget(name);
      await link.close();
      throw error;
    }
  }

  /** Resolves when the worker that runs now has ended. */
  get exited(): Promise<Exit> {
    return this.#exit.promise;
  }

  get isAlive(): boolean {
    return !this.#hasExited;
  }

  /** Its end is wanted, and nothing to recover from. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  get workspacePath(): string {
    return path.join(this.#host.sessionsDir, this.place.workspace, 'workspace');
  }

  /** How the worker broke the protocol, if it did. */
  get violation(): string | null {
    return this.#violation;
  }

  /** Whether its state is still that of a fresh interpreter. */
  get isPristine(): boolean {
    return this.#changes === 0;
  }

  /** Whether one run alone has made its state what it is: before it there was that of a fresh interpreter. */
  get isOneStepOld(): boolean {
    return this.#changes === 1;
  }

  /** Whether a twin of the present state is there to take over. */
  get isGuarded(): boolean {
    return this.#present !== null;
  }

  get canRollBack(): boolean {
    return this.#previous !== null;
  }

  /** Whether a slow consumer keeps output from being read, or has until just now. */
  get isOutputHeldUp(): boolean {
    return this.stdout.isHeldUp || this.stderr.isHeldUp;
  }

  /** Has what the session prints wait where it is, or come on. */
  holdOutput(isHeld: boolean): void {
    for (const pipe of [this.stdout, this.stderr]) {
      if (isHeld) pipe.pause();
      else pipe.resume();
    }
  }

  send(frame: object): void {
    this.#channels?.control.write(encodeFrame(frame));
  }

  interrupt(): Promise<string | null> {
    return this.#ask({ op: 'interrupt', enclosure: this.name, pid: this.#pid });
  }

  /** The state that the last run made was lost before it had a twin: the one of before the run is the present again. */
  discardState(): void {
    this.#present = this.#previous;
    this.#previous = null;
  }

  /** The state of now is one to stay with: nothing before it can be rolled back to. */
  forgetPrevious(): void {
    this.#previous = null;
    this.#changes = Number.POSITIVE_INFINITY;
  }

  /** Variables of the environment. They never pass through the zygote, whose memory every later session inherits. */
  setEnvironment(variables: Readonly<Record<string, string>>): void {
    if (Object.keys(variables).length > 0) this.send({ type: 'environment', variables });
  }

  /** Removes every file of a workspace that was empty when the session began; otherwise says why not. */
  async clearFiles(wasEmpty: boolean): Promise<string> {
    if (!wasEmpty) return 'kept: the workspace was not empty when the session began';
    const cleared = new Promise<string>((resolve) => (this.#cleared = resolve));
    this.send({ type: 'clear' });
    const files = await Promise.race([cleared, this.exited, sleep(PROMOTE_TIMEOUT_MS, undefined, { ref: false })]);
    this.#cleared = null;
    return typeof files === 'string' ? files : 'kept: the interpreter ended while it removed them';
  }

  /** Ends what the run started besides the worker and its twins. */
  async endLeftovers(): Promise<void> {
    await this.#sweep([this.#pid, ...this.#dormant()]);
    // A twin that was made while the sweep went on may have been swept away too: the worker makes another.
    const renewed = new Promise<void>((resolve) => (this.#renewed = resolve));
    this.send({ type: 'renew' });
    await Promise.race([renewed, this.exited, sleep(PROMOTE_TIMEOUT_MS, undefined, { ref: false })]);
    this.#renewed = null;
  }

  /** Whether the kernel has killed a process of the session for lack of memory since this was asked last. */
  async hasRunOutOfMemory(): Promise<boolean> {
    return (await this.#ask({ op: 'oomed', enclosure: this.name })) === 'memory';
  }

  /** Ends the worker and everything it started, and keeps the twins. */
  async endWorker(): Promise<void> {
    await this.#sweep(this.#dormant());
  }

  /** After the worker was lost: the twin of the state before its last run takes over. False when there is none. */
  async recover(): Promise<boolean> {
    await this.#drainControl(); // the news of the twin may still lie in the channel of the worker that made it
    return this.#present !== null && (await this.#promote(this.#present, false)) !== null;
  }

  /** Back to the state before the last change; what became of the files, or null when the twin was lost too. */
  async rollBack(): Promise<string | null> {
    const twin = this.#previous;
    if (twin === null) return null;
    const exited = this.exited;
    await this.#sweep([twin.pid]);
    await exited;
    return this.#promote(twin, true);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.vigil.end();
    this.#host.zygote.tell({ op: 'close', enclosure: this.name });
    if (this.#host.zygote.isAlive && !this.#isGone)
      await Promise.race([this.#gone.promise, sleep(OPEN_TIMEOUT_MS, undefined, { ref: false })]);
    this.#channels?.control.destroy();
    this.stdout?.close();
    this.stderr?.close();
  }

  async #connect(arriving: Promise<Channels>): Promise<void> {
    const channels = await Promise.race([arriving, this.#ready.promise.then(() => arriving)]);
    this.#channels = channels;
    this.stdout = new OutputPipe(channels.stdout, this.marks.kin);
    this.stderr = new OutputPipe(channels.stderr, this.marks.kin);
    readFrames(channels.control, this.#reader, {
      frame: (frame) => this.#hear(parseWorkerFrame(frame)),
      violation: (error) => this.#breach(error),
    });
    channels.control.resume();
    await Promise.all([this.#opened.promise, this.#ready.promise]);
  }

  async #promote(twin: Twin, files: boolean): Promise<string | null> {
    const mark = this.marks.next();
    this.stdout.remark(mark);
    this.stderr.remark(mark);
    const dormant = this.#dormant().filter((pid) => pid !== twin.pid);
    this.#previous = this.#present = null;
    const resumed = new Promise<Extract<WorkerFrame, { type: 'resumed' }>>((resolve) => (this.#resumed = resolve));
    const failed = new Promise<void>((resolve) => (this.#failed = resolve));
    const isInStep = this.#reader.skipTo(twin.token);
    this.#violation = null;
    if ((await this.#ask({ op: 'wake', enclosure: this.name, pid: twin.pid, dormant })) !== null) return null;
    this.#channels?.control.write(twin.token);
    const answer = await Promise.race([
      isInStep.then(() => {
        this.send({ type: 'resume', files, mark: this.marks.textOf(mark) });
        return resumed;
      }),
      this.#gone.promise,
      failed,
      sleep(PROMOTE_TIMEOUT_MS, undefined, { ref: false }),
    ]);
    this.#resumed = this.#failed = null;
    if (answer === undefined) return null;
    this.#pid = answer.pid;
    this.#changes = Number.POSITIVE_INFINITY;
    this.#hasExited = false;
    this.#exit = Promise.withResolvers<Exit>();
    await this.#outputThrough();
    return answer.files;
  }

  /** Waits for the marks of a twin that took over; a slow consumer is waited for. */
  async #outputThrough(): Promise<void> {
    const marks = Promise.all([this.stdout.complete(), this.stderr.complete()]).then(() => true);
    while (!(await Promise.race([marks, sleep(PROMOTE_TIMEOUT_MS, false, { ref: false })])) && this.isOutputHeldUp);
  }

  async #sweep(keep: number[]): Promise<void> {
    const problem = await this.#ask({ op: 'sweep', enclosure: this.name, keep });
    if (problem !== null && !this.#isGone) await this.close(); // what cannot be ended one by one is ended as a whole
  }

  /** A pid 1 that is gone answers no more. */
  #ask(command: Parameters<Zygote['ask']>[0]): Promise<string | null> {
    return Promise.race([this.#host.zygote.ask(command), this.#gone.promise.then(() => 'the session is gone')]);
  }

  #whatToWatch(): Subject {
    return { enclosure: this.name, worker: this.#pid, dormant: this.#dormant(), limits: this.options.limits };
  }

  #dormant(): number[] {
    return [this.#present, this.#previous].flatMap((twin) => (twin === null ? [] : [twin.pid]));
  }

  /** Waits until all that lies in the control channel was read: a whole turn of the loop without news. */
  async #drainControl(): Promise<void> {
    let before = -1;
    let read = 0;
    while (read !== before) {
      before = read;
      await setImmediate();
      read = this.#channels?.control.bytesRead ?? 0;
    }
  }

  #hear(frame: WorkerFrame): void {
    if (this.#violation !== null) return; // its end is on the way, and its word counts no more
    if (frame.type === 'twin' && this.#present === null) {
      this.#present = { pid: frame.pid, token: Buffer.from(frame.token, 'hex') };
      this.vigil.renew();
    } else if (frame.type === 'ready' && this.#pid === 0) {
      this.#pid = frame.pid;
      this.wasBornEmpty = frame.isEmpty;
      this.#ready.resolve();
    } else if (frame.type === 'resumed' && this.#resumed !== null) this.#resumed(frame);
    else if (frame.type === 'cleared' && this.#cleared !== null) this.#cleared(frame.files);
    else if (frame.type === 'renewed' && this.#renewed !== null) {
      this.#present = null;
      this.#renewed();
    } else if (this.onFrame !== null) {
      // At once: news of the next twin may come before whoever runs this has heard everything out.
      if (frame.type === 'done' && frame.changed) {
        this.#changes += 1;
        this.#previous = this.#present;
        this.#present = null;
      }
      this.onFrame(frame);
    } else throw new ProtocolViolation(`a frame that nobody asked for: ${frame.type}`);
  }

  #breach(error: ProtocolViolation): void {
    if (this.#violation !== null || this.#hasExited) return;
    this.#violation = error.message;
    void this.endWorker();
  }

  #onFact(fact: SessionFact): void {
    switch (fact.event) {
      case 'opened':
        this.place = { workspace: fact.workspace, uid: fact.uid };
        this.#opened.resolve();
        break;
      case 'failed':
        this.#fail(fact.problem);
        this.#leave(null);
        break;
      case 'exited':
        this.#fail(fact.problem ?? 'its process ended');
        this.#failed?.();
        this.#end({ code: fact.code, signal: fact.signal, cause: fact.cause, isGone: false });
        break;
      case 'overstepped':
        this.#onOverstep(fact);
        break;
      case 'gone':
        this.#fail(`its pid 1 ended (${fact.cause ?? 'killed'})`);
        this.#leave(fact.cause);
    }
  }

  /** What was seen between runs and heard during one is that run's business only if it goes on. */
  #onOverstep(overstep: Overstep): void {
    const { cause } = overstep;
    if (this.onOverstepped === null) this.onBackground?.(overstep);
    else if (!this.vigil.isResting || cause === 'memory' || cause === 'workspace') this.onOverstepped(cause);
  }

  #leave(cause: string | null): void {
    this.#isGone = true;
    this.#gone.resolve();
    this.#end({ code: null, signal: null, cause, isGone: true });
  }

  /** Matters only while the link is being opened; afterwards both promises are settled. */
  #fail(problem: string): void {
    const error = new VivariumError(
      'ENGINE_FAILED',
      `A session could not be opened: ${problem}. Run \`vivarium doctor\`.`,
    );
    this.#opened.reject(error);
    this.#ready.reject(error);
  }

  #end(exit: Exit): void {
    if (this.#hasExited && !exit.isGone) return;
    this.#hasExited = true;
    this.#exit.resolve(exit);
    this.onExit?.(exit);
  }
}

function isSame(said: Buffer, token: Buffer): boolean {
  return said.length === token.length && timingSafeEqual(said, token);
}

async function timeout(ms: number, signal?: AbortSignal): Promise<never> {
  await sleep(ms, undefined, { ref: false, ...(signal && { signal }) });
  throw new VivariumError(
    'ENGINE_FAILED',
    `A session did not open within ${ms / 1000} s. The machine may be overloaded; try again.`,
  );
}
