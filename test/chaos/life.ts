/** A caller: opens a session, does all kinds of things to it, closes it, and begins with the next one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { VivariumError } from '../../src/errors.ts';
import type { Host } from '../../src/host/host.ts';
import type { SessionOptions } from '../../src/host/options.ts';
import type { Session } from '../../src/host/session.ts';
import { Chance } from '../e2e/engine/chance.ts';
import type { Weather } from './faults/weather.ts';
import { Beliefs, Lie } from './model/beliefs.ts';
import { FRAME, lastingProgram, randomProgram } from './model/random-programs.ts';
import { answerOf } from './model/receipts.ts';
import type { State } from './model/state.ts';
import { answered, Hang, tally, Trace, type Report } from './report.ts';
import { Subject } from './subject.ts';

export interface LifeParts {
  readonly host: Host;
  readonly report: Report;
  readonly weather: Weather;
  readonly seed: number;
  readonly index: number;
  /** A directory with a file that sessions may be given to read. */
  readonly shared: string;
  /** The longest pause between two calls: it decides how busy the machine is. */
  readonly pauseMs: number;
}

const TIMEOUT_MS = 10_000;
const GRACE_MS = 200;
const LIMITS = { timeoutMs: TIMEOUT_MS, graceMs: GRACE_MS, memoryMb: 256, processes: 24 };
const INIT_CODE = 'base = 7; seeds = [1, 2]';
const INIT_VARIABLES: State['variables'] = { base: 7, seeds: [1, 2] };
const MOST_CALLS = 60;
/** Calls until everything is read back at the latest, so that few states are possible. */
const READ_EVERY = 5;
/** Calls without an answer multiply what is possible. */
const MANY_BELIEFS = 40;

export class Life {
  /** The session that it uses at the moment. */
  subject: Subject | undefined;
  readonly #parts: LifeParts;
  readonly #chance: Chance;
  #opened = 0;

  constructor(parts: LifeParts) {
    this.#parts = parts;
    this.#chance = new Chance(Math.imul(parts.seed + 1, 0x9e3779b1) ^ Math.imul(parts.index + 1, 0x85ebca6b));
  }

  async live(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#opened += 1;
      const trace = new Trace(`session ${this.#parts.index}.${this.#opened} of seed ${this.#parts.seed}`);
      try {
        await this.#useOne(trace, signal);
      } catch (error) {
        this.#parts.report.find(error instanceof Hang ? 'hang' : 'lie', describe(error), trace);
        this.subject?.session.close().catch(() => undefined); // it has been found out already
      }
      this.subject = undefined;
      await sleep(this.#chance.below(this.#parts.pauseMs)); // an opening may fail at once, again and again
    }
  }

  async #useOne(trace: Trace, signal: AbortSignal): Promise<void> {
    if (this.#chance.below(8) < 1) return this.#runOnce(trace);
    const { host, report, weather } = this.#parts;
    const hasInitCode = this.#chance.below(2) < 1;
    const session = await this.#open(trace, hasInitCode);
    if (session === undefined) return;
    const variables = hasInitCode ? INIT_VARIABLES : {};
    const subject = new Subject({ host, session, report, trace, weather, variables, timeoutMs: TIMEOUT_MS });
    this.subject = subject;
    const calls = Math.ceil(this.#chance.below(MOST_CALLS));
    for (let call = 1; call <= calls && !signal.aborted; call += 1) {
      const isDue = call % READ_EVERY === 0 || this.#chance.below(6) < 1;
      if (subject.beliefs.count > MANY_BELIEFS) await subject.readBack();
      else await this.#act(subject);
      if (isDue) await subject.readBack();
      await sleep(this.#chance.below(this.#parts.pauseMs));
    }
    await this.#finish(subject);
  }

  async #open(trace: Trace, hasInitCode: boolean): Promise<Session | undefined> {
    const { host, report, shared } = this.#parts;
    const mounts = this.#chance.below(4) < 1 ? [{ source: shared, target: '/shared' }] : [];
    const isGivenUp = this.#chance.below(8) < 1;
    const options: SessionOptions = {
      limits: LIMITS,
      mounts,
      ...(hasInitCode && { initCode: INIT_CODE }),
      ...(isGivenUp && { signal: AbortSignal.timeout(Math.round(this.#chance.below(60))) }),
    };
    report.calls += 1;
    trace.add('> open', options);
    try {
      return await answered('open', TIMEOUT_MS, () => host.createSession(options));
    } catch (error) {
      if (options.signal?.aborted) return undefined;
      if (!(error instanceof VivariumError)) throw error;
      tally(report.errors, `open: ${error.code}`);
      return undefined;
    }
  }

  /** One call, or a few that belong together. */
  async #act(subject: Subject): Promise<void> {
    const chance = this.#chance;
    const luck = chance.below(100);
    const { guess } = subject.beliefs;
    if (luck < 44) return subject.run(randomProgram(chance, guess));
    if (luck < 48) return subject.runBoth(randomProgram(chance, guess), randomProgram(chance, guess));
    if (luck < 59) return this.#stop(subject);
    if (luck < 63) return subject.stream(randomProgram(chance, guess), {});
    if (luck < 68) return subject.leaveStream(lastingProgram(chance, guess), Math.ceil(chance.below(4)));
    if (luck < 74) return this.#setVariable(subject);
    if (luck < 76) return subject.setContext(Math.floor(chance.below(1e9)));
    if (luck < 80) return subject.inspect();
    if (luck < 83) return FRAME in guess.variables ? subject.exportTable(FRAME) : subject.inspect();
    if (luck < 90) return subject.rollBack();
    if (luck < 92) return subject.reset();
    if (luck < 96) return subject.upload(`up-${Math.floor(chance.below(3))}.txt`, chance.below(1e9).toString(36));
    return subject.readFiles();
  }

  /** A run that is stopped: by its time limit, a signal or an interrupt, at a random moment. */
  async #stop(subject: Subject): Promise<void> {
    const program = lastingProgram(this.#chance, subject.beliefs.guess);
    const afterMs = Math.round(this.#chance.below(120));
    const luck = this.#chance.below(3);
    if (luck < 1) return subject.run(program, { timeoutMs: afterMs + 1 });
    if (luck < 2) return subject.run(program, { signal: AbortSignal.timeout(afterMs) });
    // An interrupt may come before the run has begun, and is then nothing that stops it.
    const running = subject.run(program, { timeoutMs: 1000, isStopped: true });
    const interrupting = sleep(afterMs).then(() =>
      answered('interrupt', TIMEOUT_MS, () => subject.session.interrupt()).catch((error: unknown) => {
        if (!(error instanceof VivariumError)) throw error;
      }),
    );
    await Promise.all([running, interrupting]);
  }

  async #setVariable(subject: Subject): Promise<void> {
    const value = Math.floor(this.#chance.below(1e12));
    const signal = this.#chance.below(4) < 1 ? AbortSignal.timeout(Math.round(this.#chance.below(10))) : undefined;
    const luck = this.#chance.below(3);
    if (luck < 1) return subject.setVariable('i', value, `${value}`, signal);
    if (luck < 2) return subject.setVariable('l', [value, 1], `[${value}, 1]`, signal);
    return subject.setVariable('d', { dict: { k: value } }, `{"k": ${value}}`, signal);
  }

  /** Closes the session while something runs, or while nothing does. */
  async #finish(subject: Subject): Promise<void> {
    if (this.#chance.below(2) < 1) return subject.close();
    const { code } = lastingProgram(this.#chance, subject.beliefs.guess);
    const running = answered('a run that is closed', TIMEOUT_MS, () => subject.session.runCode(code)).catch(
      (error: unknown) => {
        if (!(error instanceof VivariumError)) throw error;
      },
    );
    await sleep(this.#chance.below(50));
    await Promise.all([running, subject.close()]);
  }

  async #runOnce(trace: Trace): Promise<void> {
    const { host, report } = this.#parts;
    const program = randomProgram(this.#chance, { variables: {}, files: {} });
    report.calls += 1;
    trace.add(`> run once ${program.code}`);
    try {
      const execution = await answered('run once', TIMEOUT_MS, () => host.runOnce(program.code, { limits: LIMITS }));
      trace.add('<', execution);
      report.receipts += 1;
      // Nobody asked for its result variable.
      const { resultVariable: _, value: __, ...plain } = program;
      new Beliefs({}).learn(plain, answerOf(execution));
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error;
      tally(report.errors, `once: ${error.code}`);
    }
  }
}

function describe(error: unknown): string {
  if (error instanceof Lie || error instanceof Hang) return error.message;
  return `an error that is no answer: ${error instanceof Error ? error.stack : String(error)}`;
}
