import { constants } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import type { Touched } from '../../../workspace/workspace.ts';
import { Waiters, within } from '../../deadline.ts';
import type { Overstep } from '../zygote/surveyor.ts';
import type { EnclosureEvent, PidOneRequest, Place, Zygote } from '../zygote/zygote.ts';
import type { EnclosureNetwork } from '../gate/enclosure-network.ts';
import type { Exit } from './exit.ts';
import { openCommand, type EnclosureOptions, type Home } from './options.ts';
import { Watch } from './watch.ts';

const CLOSE_TIMEOUT_MS = 30_000;
/** More than a pid 1 gives itself for the longest that it does (END_SECONDS in pid1.py). One that takes longer has been stopped. */
const ANSWER_TIMEOUT_MS = 6000;
const GONE = 'the session is gone';
const OUT_OF_MEMORY = 'the session has used up its memory (limits.memoryMb)';

/** A surveyor that takes longer has no time, and looking at everything is faster. */
const TOUCHED_TIMEOUT_MS = 2000;
/** A surveyor that takes longer cannot tell. */
const STARVED_TIMEOUT_MS = 1000;

const TouchedAnswer = z.object({
  mark: z.string(),
  found: z
    .object({ touched: z.array(z.string()), folders: z.array(z.string()) })
    .transform(({ touched, folders }): Touched => ({ paths: touched, folders }))
    .nullable(),
});

/** What lives in an enclosure, as far as the enclosure has to know it. */
export interface Occupant {
  /** The processes that are measured, and those that only sleep. */
  pids(): { readonly worker: number; readonly dormant: readonly number[] };
  onExit(exit: Exit): void;
  onOverstep(overstep: Overstep): void;
}

/** How a command of the system ended. */
export interface CommandEnd {
  readonly code: number | null;
  readonly signal: number | null;
  /** Why it was ended, if that is known here. */
  readonly reason: string | undefined;
}

interface RunningCommand {
  readonly end: (end: CommandEnd) => void;
  reason: string | undefined;
}

export interface EnclosureParts {
  readonly zygote: Zygote;
  /** The directory that holds the homes of all enclosures. */
  readonly sessionsDir: string;
}

export interface EnclosurePlan {
  readonly options: EnclosureOptions;
  readonly network: EnclosureNetwork | null;
}

/** The walls of one session, seen from outside: its home, the commands that its pid 1 takes, and the watch over its limits. */
export class Enclosure {
  readonly name: string;
  readonly watch: Watch;
  /** Its way to listed hosts, if its network is a list. */
  readonly network: EnclosureNetwork | null;
  readonly #parts: EnclosureParts;
  readonly #opened = Promise.withResolvers<string>();
  readonly #failed = Promise.withResolvers<never>();
  readonly #gone = Promise.withResolvers<void>();
  readonly #asking = new Waiters<string | null>();
  readonly #commands = new Map<number, RunningCommand>();
  #lastCommand = 0;
  #options: EnclosureOptions;
  #home: Home | null = null;
  #place: Place | null = null;
  #occupant: Occupant | null = null;
  /** Of the last answer that said which files were touched. */
  #touchedMark: string | null = null;
  #isGone = false;
  /** Why we ended it although nobody had asked for that. */
  #endReason: string | null = null;

  constructor(name: string, parts: EnclosureParts, { options, network }: EnclosurePlan) {
    this.name = name;
    this.network = network;
    this.#parts = parts;
    this.#options = options;
    this.watch = new Watch(
      (order) => parts.zygote.survey(name, { ...order, place: this.#place }),
      () => ({ worker: 0, dormant: [], ...this.#occupant?.pids(), limits: this.#options.limits }),
    );
    this.#failed.promise.catch(() => undefined); // the call that opens it reports it
  }

  /** Has the zygote open it: one that is ready, or one that is built on demand. */
  open(): void {
    this.#parts.zygote.listen(this.name, (event) => this.#onEvent(event));
    this.#parts.zygote.send(this.name, { op: 'open', ...openCommand(this.#options) });
  }

  /** Resolves to the ticket of its worker. */
  get opened(): Promise<string> {
    return this.#opened.promise;
  }

  /** Rejects if it cannot be opened, or if its worker ends. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** From now on the occupant gets the events. */
  occupy(occupant: Occupant): void {
    this.#occupant = occupant;
  }

  get options(): EnclosureOptions {
    return this.#options;
  }

  /** For a session whose limits differ only where we enforce them ourselves. */
  setOptions(options: EnclosureOptions): void {
    this.#options = options;
  }

  get home(): Home {
    if (this.#home === null) throw new TypeError(`enclosure ${this.name} is not open yet`);
    return this.#home;
  }

  get workspacePath(): string {
    return path.join(this.#parts.sessionsDir, this.home.workspace, 'workspace');
  }

  /** Whether it has ended, or is about to, and every twin with it. */
  get isGone(): boolean {
    return this.#isGone || this.#endReason !== null;
  }

  /** Why we ended it, if we did. */
  get endReason(): string | null {
    return this.#endReason;
  }

  /** Raises KeyboardInterrupt in a process. Returns what went wrong, or null. */
  interrupt(pid: number): Promise<string | null> {
    return this.#ask({ op: 'interrupt', pid });
  }

  /** Has a twin run as the worker. Returns what went wrong, or null. */
  wake(pid: number, dormant: readonly number[]): Promise<string | null> {
    return this.#ask({ op: 'wake', pid, dormant });
  }

  /**
   * Ends every process but these, and commands if there is a reason for that. Processes that cannot be ended one by one
   * are ended as a whole.
   */
  async sweep(keep: readonly number[], commandsEndFor: string | null): Promise<void> {
    if (commandsEndFor !== null) this.explainCommands(commandsEndFor);
    const problem = await this.#ask({ op: 'sweep', keep, spares: commandsEndFor === null });
    if (problem !== null && !this.#isGone) await this.end(problem);
  }

  /** Has pid 1 start a command of the system, which connects to our socket with this ticket. `asked`: what went wrong. */
  startCommand(ticket: string): { number: number; asked: Promise<string | null>; ended: Promise<CommandEnd> } {
    this.#lastCommand += 1;
    const number = this.#lastCommand;
    const { promise: ended, resolve: end } = Promise.withResolvers<CommandEnd>();
    this.#commands.set(number, { end, reason: undefined });
    const asked = this.#ask({ op: 'exec', command: number, ticket });
    void asked.then((problem) => problem !== null && this.#commands.delete(number));
    return { number, asked, ended };
  }

  /** Signals a command. Returns what went wrong, or null. */
  async signalCommand(command: number, signal: number): Promise<string | null> {
    return this.#commands.has(command) ? this.#ask({ op: 'signal', command, signal }) : 'it has ended';
  }

  get runningCommands(): number {
    return this.#commands.size;
  }

  /** Says why the commands that run now are about to be ended. */
  explainCommands(reason: string): void {
    for (const command of this.#commands.values()) command.reason ??= reason;
  }

  /** Whether the kernel has killed one of its processes for lack of memory since the last call. */
  async hasRunOutOfMemory(): Promise<boolean> {
    return (await this.#ask({ op: 'oomed' })) === 'memory';
  }

  /** Asks which files of the workspace were touched since the last question; null if that is not known. */
  async touched(): Promise<Touched | null> {
    const question = { place: this.#place, after: this.#touchedMark };
    const answer = await within(TOUCHED_TIMEOUT_MS, this.#parts.zygote.askSurveyor('changes', question), null);
    if (answer === null || answer.problem !== null) return null; // the next question names the last answer that arrived
    const parsed = TouchedAnswer.safeParse(answer.value);
    if (!parsed.success) return null;
    this.#touchedMark = parsed.data.mark;
    return parsed.data.found;
  }

  /** Whether its worker, which has been told to stop, has had no processor time to do so. */
  async isStarved(): Promise<boolean> {
    const asking = this.#parts.zygote.askSurveyor('starved', { enclosure: this.name });
    return (await within(STARVED_TIMEOUT_MS, asking, null))?.value === true;
  }

  async close(): Promise<void> {
    this.watch.end();
    const { zygote } = this.#parts;
    zygote.send(this.name, { op: 'close' });
    if (zygote.isAlive && !this.#isGone) {
      await within(CLOSE_TIMEOUT_MS, this.#gone.promise, undefined);
    }
  }

  /** Ends it because it cannot be served any more. Its occupant is told as with any other loss. */
  async end(reason: string): Promise<void> {
    this.#endReason ??= reason;
    this.#parts.zygote.send(this.name, { op: 'close' });
    await within(CLOSE_TIMEOUT_MS, this.#gone.promise, undefined);
  }

  /** A pid 1 that is gone does not answer any more. One that does not answer in time is ended with everything in it. */
  async #ask(request: PidOneRequest): Promise<string | null> {
    if (this.#isGone) return GONE;
    const asking = this.#asking.race(this.#parts.zygote.ask(this.name, request));
    const answer = await within(ANSWER_TIMEOUT_MS, asking, undefined);
    if (answer !== undefined) return answer;
    await this.end(`its pid 1 did not answer for ${ANSWER_TIMEOUT_MS / 1000} s`);
    return GONE;
  }

  #onEvent(event: EnclosureEvent): void {
    switch (event.event) {
      case 'opened':
        this.#place = event.place;
        this.#home = { workspace: event.place.workspace, uid: event.uid };
        this.#opened.resolve(event.ticket);
        break;
      case 'failed':
        this.#fail(event.problem);
        this.#leave(null);
        break;
      case 'exited':
        if (this.#place !== null) this.#place = { ...this.#place, worker: 0 }; // another process may get this number
        this.#fail(event.problem ?? 'its process ended');
        this.#occupant?.onExit({
          code: event.code,
          signal: event.signal,
          cause: this.#endReason ?? event.cause,
          isGone: this.#endReason !== null,
        });
        break;
      case 'ended':
        this.#endCommand(event.command, event, event.cause === 'memory' ? OUT_OF_MEMORY : undefined);
        break;
      case 'overstepped':
        this.#occupant?.onOverstep(event);
        break;
      case 'unmeasured':
        void this.end(`it could not be measured: ${event.problem}`);
        break;
      case 'gone':
        this.#fail(`its pid 1 ended (${event.cause ?? 'killed'})`);
        this.#leave(event.cause);
    }
  }

  #leave(cause: string | null): void {
    this.#isGone = true;
    this.network?.close();
    this.#asking.end(GONE);
    this.#gone.resolve();
    const killed = { code: null, signal: constants.signals.SIGKILL };
    for (const number of this.#commands.keys()) {
      this.#endCommand(number, killed, `the session's processes were ended (${this.#endReason ?? cause ?? 'killed'})`);
    }
    this.#occupant?.onExit({ code: null, signal: null, cause: this.#endReason ?? cause, isGone: true });
  }

  #endCommand(number: number, { code, signal }: Omit<CommandEnd, 'reason'>, reason: string | undefined): void {
    const command = this.#commands.get(number);
    this.#commands.delete(number);
    command?.end({ code, signal, reason: code === null ? (command.reason ?? reason) : undefined });
  }

  /** Matters only while it is being opened. */
  #fail(problem: string): void {
    this.#failed.reject(
      new VivariumError('ENGINE_FAILED', `A session could not be opened: ${problem}. Run \`vivarium doctor\`.`),
    );
  }
}
