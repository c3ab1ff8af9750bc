/** One session and everything that is believed about it. Each call is answered in time, and its answer is believed or a lie. */
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { VivariumError, type ErrorCode } from '../../src/errors.ts';
import type { Event } from '../../src/execution/event.ts';
import type { Json } from '../../src/execution/execution.ts';
import { foldExecution, Transcript } from '../../src/execution/transcript.ts';
import type { Host } from '../../src/host/host.ts';
import type { RunOptions } from '../../src/host/options.ts';
import type { Session } from '../../src/host/session.ts';
import { Beliefs, Lie } from './model/beliefs.ts';
import { assign, compose, READING, type Program } from './model/programs.ts';
import { answerOf, ownFiles, type Answer } from './model/receipts.ts';
import { answered, tally, type Report, type Trace } from './report.ts';
import type { State } from './model/state.ts';
import { checkInCalm, type RunSettings } from './model/surprises.ts';
import type { Weather } from './faults/weather.ts';

export interface SubjectParts {
  readonly host: Host;
  readonly session: Session;
  readonly report: Report;
  readonly trace: Trace;
  readonly weather: Weather;
  /** What its init code leaves. */
  readonly variables: State['variables'];
  readonly timeoutMs: number;
}

type CallLimits = Pick<RunSettings, 'timeoutMs' | 'signal'>;

/** What a call may fail with while processes are lost, or a file cannot be opened or written. */
const ANSWERS: ReadonlySet<ErrorCode> = new Set([
  'ENGINE_FAILED',
  'INIT_FAILED',
  'NOTHING_TO_ROLL_BACK',
  'TABLE_UNAVAILABLE',
  'FILE_REFUSED',
  'FILE_TOO_LARGE',
  'STORAGE_FAILED',
]);
const OUTPUT_BYTES = 1 << 20;
/** A stream that is left goes on until it has noticed. */
const LEFT: RunSettings = { timeoutMs: 1000 };

export class Subject {
  readonly session: Session;
  readonly beliefs: Beliefs;
  readonly #parts: SubjectParts;
  readonly #openedAtMs = performance.now();
  #generation = 1;
  /** Whether a rollback or reset may have made it grow by a number that is not known. */
  #isGenerationSure = true;
  /** Whether a rollback told it last, after something that the next receipt still has to tell. */
  #isGenerationOfRollback = false;
  /** What the last receipt said about the next crash. */
  #unprotected: string | undefined;
  /** Whether there was a run since then whose answer nobody received. */
  #hasUntold = false;

  constructor(parts: SubjectParts) {
    this.#parts = parts;
    this.session = parts.session;
    this.beliefs = new Beliefs(parts.variables);
  }

  get isCalm(): boolean {
    return this.#parts.weather.isCalm(this.session.id, this.#openedAtMs);
  }

  get openedAtMs(): number {
    return this.#openedAtMs;
  }

  async run(program: Program, settings: RunSettings = {}): Promise<void> {
    const answer = await this.#call(program.title ?? `run ${program.code}`, settings, () =>
      this.session.runCode(program.code, optionsOf(program, settings)),
    );
    if (answer === undefined) this.#unknown(program, false);
    else this.#learn(program, answerOf(answer), settings);
  }

  /** Two runs at once: they take turns in the order in which they were asked for. */
  async runBoth(first: Program, second: Program): Promise<void> {
    const [one, other] = await Promise.all(
      [first, second].map((program) =>
        this.#call(`run in a queue ${program.code}`, { timeoutMs: 2 * this.#parts.timeoutMs }, () =>
          this.session.runCode(program.code, optionsOf(program, {})),
        ),
      ),
    );
    for (const [program, answer] of [[first, one] as const, [second, other] as const]) {
      if (answer === undefined) this.#unknown(program, false);
      else this.#learn(program, answerOf(answer), {});
    }
  }

  async stream(program: Program, settings: RunSettings): Promise<void> {
    const answer = await this.#call(`stream ${program.code}`, settings, () =>
      foldExecution(this.session.stream(program.code, optionsOf(program, settings)), OUTPUT_BYTES),
    );
    if (answer === undefined) this.#unknown(program, false);
    else this.#learn(program, answerOf(answer), settings);
  }

  /** Leaves a stream after a few events. If it has ended before that, its receipt counts as received. */
  async leaveStream(program: Program, events: number): Promise<void> {
    const transcript = new Transcript(OUTPUT_BYTES);
    let last: Event | undefined;
    let seen = 0;
    await this.#call(`leave a stream after ${events} events ${program.code}`, {}, async () => {
      for await (const event of this.session.stream(program.code, optionsOf(program, LEFT))) {
        transcript.add((last = event));
        seen += 1;
        if (seen >= events) break;
      }
    });
    if (last?.type === 'done') this.#learn(program, answerOf(transcript.execution()), LEFT);
    else this.#unknown(program, false);
  }

  async setVariable(name: string, value: Json, code: string, signal?: AbortSignal): Promise<void> {
    const program = compose([assign(name, code, value)], { kind: 'succeeds' });
    const plain = (value as { dict?: Json }).dict ?? value;
    const isDone = await this.#call(`set ${name} = ${code}`, signal ? { signal } : {}, async () => {
      await this.session.setVariables({ [name]: plain }, signal ? { signal } : {});
      return true;
    });
    this.#unknown(program, isDone === true);
  }

  async setContext(celsius: number): Promise<void> {
    const program = compose([assign('context', 'Context', { context: celsius })], { kind: 'succeeds' });
    const isDone = await this.#call(`set the context to ${celsius}`, {}, async () => {
      await this.session.setContext({ SENSOR: { hall: { celsius } } });
      return true;
    });
    this.#unknown(program, isDone === true);
  }

  async inspect(): Promise<void> {
    const found = await this.#call('inspect', {}, () => this.session.inspect());
    if (found === undefined) return this.beliefs.disturb();
    const numbers = found.filter(({ type }) => type === 'int');
    this.beliefs.observe(
      'inspect shows other variables',
      ({ variables }) =>
        found.map(({ name }) => name).join() === Object.keys(variables).toSorted().join() &&
        numbers.every(({ name, description }) => description === JSON.stringify(variables[name])),
    );
  }

  async exportTable(name: string): Promise<void> {
    const content = await this.#call(`export ${name}`, {}, async () => {
      const artifact = await this.session.exportTable(name);
      return text(await this.#parts.host.artifacts.open(artifact.id));
    });
    if (content === undefined) return this.beliefs.disturb();
    this.beliefs.observe('a table was exported with other rows', ({ variables }) => {
      const { frame } = (variables[name] ?? {}) as { frame?: { c: readonly number[] } };
      return frame !== undefined && `c\n${frame.c.join('\n')}\n` === content.replace(/^,/, '').replace(/^\d+,/gm, '');
    });
  }

  async rollBack(): Promise<void> {
    const isSure = this.isCalm && this.#unprotected === undefined && this.beliefs.canSurelyRollBack;
    let isNothing = false;
    const answer = await this.#call('roll back', {}, () =>
      this.session.rollback().catch((error: unknown) => {
        isNothing = error instanceof VivariumError && error.code === 'NOTHING_TO_ROLL_BACK';
        throw error;
      }),
    );
    this.#unprotected = 'not known';
    if (answer === undefined) {
      if (isNothing && isSure && this.isCalm)
        throw new Lie('there was a change to roll back, and nothing happened to it');
      this.#isGenerationSure = false;
      return this.beliefs.disturb();
    }
    if (answer.generation <= this.#generation) throw new Lie('a rollback did not make the generation grow');
    this.#generation = answer.generation;
    this.#isGenerationOfRollback = true;
    this.beliefs.rolledBack(answer.files);
  }

  async reset(): Promise<void> {
    const isDone = await this.#call('reset', {}, async () => {
      await this.session.reset();
      return true;
    });
    this.#isGenerationSure = false;
    this.#unprotected = undefined;
    if (isDone) this.beliefs.reset();
    else this.beliefs.failedToReset();
  }

  async upload(path: string, content: string, signal?: AbortSignal): Promise<void> {
    const isDone = await this.#call(`upload ${path} = ${content}`, signal ? { signal } : {}, async () => {
      await this.session.files.upload(path, content, signal ? { signal } : {});
      return true;
    });
    this.beliefs.uploaded(path, content, isDone === true);
  }

  /** Looks at the files from outside. */
  async readFiles(): Promise<void> {
    const found = await this.#call('read the files', {}, async () => {
      const { files } = await this.session.files.list();
      const paths = ownFiles(files.map(({ path }) => path));
      const read = paths.map(async (path) => [path, await text(await this.session.files.download(path))] as const);
      return Object.fromEntries(await Promise.all(read));
    });
    if (found === undefined) return;
    this.beliefs.observe(`the files are ${JSON.stringify(found)}`, ({ files }) => isDeepStrictEqual(files, found));
  }

  async readBack(): Promise<void> {
    this.#parts.report.readings += 1;
    await this.run(READING);
  }

  /** Closes the session, at any moment. Its runs end in any way that is an answer. */
  async close(): Promise<void> {
    const { timeoutMs } = this.#parts;
    await answered('close', timeoutMs, () => this.session.close());
    this.#parts.trace.add('closed');
  }

  /** The answer of a call, or undefined if it ended with an error of ours or because its caller gave up. */
  async #call<T>(what: string, limits: CallLimits, call: () => Promise<T>): Promise<T | undefined> {
    const { report, trace } = this.#parts;
    const { timeoutMs = this.#parts.timeoutMs, signal } = limits;
    report.calls += 1;
    trace.add(`> ${what}`);
    try {
      const answer = await answered(what, timeoutMs, call);
      trace.add('<', answer);
      return answer;
    } catch (error) {
      trace.add(`! ${String(error)}`);
      tally(report.errors, `${what.split(' ', 1)[0]}: ${kindOf(error, signal)}`);
      if (this.session.isClosed) throw new Lie(`the session ended unasked: ${String(error)}`, { cause: error });
      return undefined;
    }
  }

  #unknown(program: Program, isComplete: boolean): void {
    this.#unprotected = 'not known';
    this.#hasUntold = true;
    this.beliefs.learnNothing(program, isComplete);
  }

  #learn(program: Program, answer: Answer, settings: RunSettings): void {
    const { report, trace } = this.#parts;
    const { outcome, state, tellsEarlier } = answer;
    report.receipts += 1;
    const earlier = state.earlier === undefined ? '' : `, ${state.earlier.status} earlier`;
    tally(report.fates, `${outcome.status}, ${state.status}${earlier}`);
    if (this.isCalm)
      checkInCalm({ program, answer, settings, unprotected: this.#unprotected, hasUntold: this.#hasUntold });
    try {
      this.beliefs.learn(program, answer);
    } catch (error) {
      trace.add('believed', this.beliefs.list);
      throw error;
    }
    if (!tellsEarlier) return;
    this.#checkGeneration(answer);
    this.#unprotected = state.unprotected;
    this.#hasUntold = false;
  }

  /** It grows when the state did not simply go on, and only then; what made it grow must have been told. */
  #checkGeneration({ state: { status, earlier, generation } }: Answer): void {
    const isSame = status === 'preserved' && earlier === undefined;
    const isOlder = this.#isGenerationOfRollback && earlier !== undefined && status !== 'restored';
    const least = this.#generation + (isSame || isOlder ? 0 : 1);
    if (generation < least || (isSame && this.#isGenerationSure && generation > least)) {
      throw new Lie(`the generation went from ${this.#generation} to ${generation}`);
    }
    this.#generation = generation;
    this.#isGenerationSure = true;
    this.#isGenerationOfRollback = false;
  }
}

/** The kind of an error that is an answer. Anything else is thrown. */
function kindOf(error: unknown, signal: AbortSignal | undefined): string {
  if (error instanceof VivariumError && ANSWERS.has(error.code)) return error.code;
  if (signal?.aborted && error === signal.reason) return 'given up';
  throw error;
}

function optionsOf({ resultVariable }: Program, { timeoutMs, signal }: RunSettings): RunOptions {
  return {
    ...(resultVariable !== undefined && { resultVariable }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(signal !== undefined && { signal }),
  };
}
