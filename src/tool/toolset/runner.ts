import { VivariumError } from '../../errors.ts';
import type { Execution } from '../../execution/execution.ts';
import type { RunOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import { isAnswer } from '../answers.ts';
import type { LazyEngine } from '../place/lazy-engine.ts';
import { picturesOf } from '../pictures.ts';
import { figureFields } from './figures.ts';
import { RestartFailure, type Entry, type Interpreters } from './interpreters.ts';
import {
  failedCall,
  restartFailed,
  restartFields,
  restartOf,
  resultOf,
  type Restart,
  type RunPythonResult,
} from './result.ts';
import type { Workplace } from './workplace.ts';

export interface RunnerParts {
  readonly engine: LazyEngine;
  readonly interpreters: Interpreters;
  readonly workplace: Workplace;
  readonly retryOnCrash: boolean;
}

export interface CodeRun {
  readonly code: string;
  readonly variable: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** What a run came to: the answer, and the execution behind it where there was one. */
export interface Finished {
  readonly result: RunPythonResult;
  readonly execution?: Execution;
}

/** Runs code in interpreters of a toolset and sees to it that a lost one is replaced. */
export class Runner {
  readonly #parts: RunnerParts;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /** Nothing runs twice, unless a crash may be answered so. */
  async run(entry: Entry, run: CodeRun): Promise<Finished> {
    try {
      const { session, loss } = await this.#parts.interpreters.live(entry);
      const lost = loss === null ? null : { type: 'SessionClosed', reason: loss, isStateRestored: false };
      return await this.#runIn(session, entry, run, lost);
    } catch (error) {
      if (error instanceof RestartFailure) return { result: restartFailed(error.message, error.cause.message) };
      if (isAnswer(error)) return { result: failedCall(error.message) };
      throw error;
    }
  }

  async #runIn(session: Session, entry: Entry, run: CodeRun, loss: Restart | null): Promise<Finished> {
    let execution: Execution;
    try {
      execution = await session.runCode(run.code, optionsOf(run));
    } catch (error) {
      return this.#replace(entry, run, error);
    }
    if (execution.outcome.status === 'crashed' && this.#parts.retryOnCrash) return this.#retry(entry, run, execution);
    return this.#finish(session, run, { execution, loss });
  }

  /** The same code once more, in what took the place of the crashed process. */
  async #retry(entry: Entry, run: CodeRun, crashed: Execution): Promise<Finished> {
    const { session } = await this.#parts.interpreters.live(entry);
    const execution = await session.runCode(run.code, optionsOf(run));
    const restart = restartOf(crashed);
    if (execution.outcome.status !== 'crashed') return this.#finish(session, run, { execution, loss: restart });
    return { result: restartFailed(restart?.type ?? 'BrokenProcessPool', execution.outcome.reason), execution };
  }

  /** The session itself is gone: its engine failed, or it was closed before the code had its turn. */
  async #replace(entry: Entry, run: CodeRun, error: unknown): Promise<Finished> {
    if (!isGone(error)) throw error;
    const { interpreters, retryOnCrash } = this.#parts;
    if (!interpreters.has(entry)) return { result: failedCall(`Interpreter ${entry.id} was deleted`) };
    const restart: Restart = { type: 'BrokenProcessPool', reason: error.message, isStateRestored: false };
    const { session } = await interpreters.live(entry);
    if (retryOnCrash) {
      const execution = await session.runCode(run.code, optionsOf(run));
      return this.#finish(session, run, { execution, loss: restart });
    }
    const stderr = `${error.message} Whether the code ran is not known; it was not run again.`;
    return { result: { success: false, result: null, stdout: '', stderr, ...restartFields(restart) } };
  }

  async #finish(
    session: Session,
    { variable }: CodeRun,
    { execution, loss }: { readonly execution: Execution; readonly loss: Restart | null },
  ): Promise<Finished> {
    const { artifacts } = await this.#parts.engine.get();
    const pictures = await picturesOf(execution, artifacts);
    const workdir = await this.#parts.workplace.workdir();
    const result = {
      ...resultOf(execution, variable),
      ...(restartOf(execution) === null && restartFields(loss)),
      ...(await figureFields(pictures, { session, workdir })),
    };
    return { result, execution };
  }
}

function optionsOf({ variable, timeoutMs, signal }: CodeRun): RunOptions {
  return {
    echo: 'all',
    timeoutMs,
    ...(variable !== undefined && { resultVariable: variable }),
    ...(signal !== undefined && { signal }),
  };
}

function isGone(error: unknown): error is VivariumError {
  const codes: readonly string[] = ['SESSION_CLOSED', 'ENGINE_FAILED', 'ENGINE_CLOSED'];
  return error instanceof VivariumError && codes.includes(error.code);
}
