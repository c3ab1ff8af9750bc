import { VivariumError } from '../../errors.ts';
import type { Execution, Json } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import type { RunOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import { readWholeValue } from '../../host/whole-value.ts';
import { isRefusal } from '../call.ts';
import { loadFigures, type LoadedFigure } from '../figures.ts';
import type { LazyHost } from '../lazy.ts';
import { figureFields } from './figures.ts';
import { RestartFailure, type Interpreters, type ToolsetInterpreter } from './interpreters.ts';
import {
  failedCall,
  restartFailed,
  restartFields,
  restartOf,
  resultOf,
  type Restart,
  type RunPythonResult,
} from './result.ts';
import type { InterpreterSetup } from './setup.ts';
import { findTruncated } from './truncated.ts';

export interface RunnerParts {
  readonly host: LazyHost;
  readonly interpreters: Interpreters;
  readonly setup: InterpreterSetup;
  readonly retryOnCrash: boolean;
  readonly maxResultBytes: number;
}

export interface RequestedRun {
  readonly code: string;
  readonly variable: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The result of a run, and its execution if the code ran. */
export interface ToolsetRun {
  readonly result: RunPythonResult;
  readonly execution?: Execution;
  readonly figures?: readonly LoadedFigure[];
}

/** Runs code in the interpreters of a toolset and replaces those that are lost. */
export class Runner {
  readonly #parts: RunnerParts;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /** Code runs once, unless `retryOnCrash` is set. */
  async run(entry: ToolsetInterpreter, run: RequestedRun): Promise<ToolsetRun> {
    try {
      const { session, loss } = await this.#parts.interpreters.live(entry);
      const lost = loss === null ? null : { type: 'SessionClosed', reason: loss, isStateRestored: false };
      return await this.#runIn(session, entry, run, lost);
    } catch (error) {
      if (error instanceof RestartFailure) return { result: restartFailed(error.message, error.cause.message) };
      if (isRefusal(error)) return { result: failedCall(error.message) };
      throw error;
    }
  }

  async #runIn(
    session: Session,
    entry: ToolsetInterpreter,
    run: RequestedRun,
    loss: Restart | null,
  ): Promise<ToolsetRun> {
    let execution: Execution;
    try {
      execution = await session.runCode(run.code, optionsOf(run));
    } catch (error) {
      return this.#replace(entry, run, error);
    }
    if (execution.outcome.status === 'crashed' && this.#parts.retryOnCrash) return this.#retry(entry, run, execution);
    return this.#finish(session, run, { execution, loss });
  }

  /** Runs the same code again after a crash. */
  async #retry(entry: ToolsetInterpreter, run: RequestedRun, crashed: Execution): Promise<ToolsetRun> {
    const { session } = await this.#parts.interpreters.live(entry);
    const execution = await session.runCode(run.code, optionsOf(run));
    const restart = restartOf(crashed);
    if (execution.outcome.status !== 'crashed') return this.#finish(session, run, { execution, loss: restart });
    return { result: restartFailed(restart?.type ?? 'BrokenProcessPool', execution.outcome.reason), execution };
  }

  /** The session is gone: its host failed, or it was closed before the code ran. */
  async #replace(entry: ToolsetInterpreter, run: RequestedRun, error: unknown): Promise<ToolsetRun> {
    if (!isGone(error)) throw error;
    const { interpreters, retryOnCrash } = this.#parts;
    if (!interpreters.has(entry)) return { result: failedCall(`Interpreter ${entry.id} was deleted`) };
    const restart: Restart = { type: 'BrokenProcessPool', reason: error.message, isStateRestored: false };
    const { session } = await interpreters.live(entry);
    if (retryOnCrash) {
      const execution = await session.runCode(run.code, optionsOf(run));
      return this.#finish(session, run, { execution, loss: restart });
    }
    const stderr = `${error.message} The code may or may not have run; it was not run again.`;
    return { result: { success: false, result: null, stdout: '', stderr, ...restartFields(restart) } };
  }

  async #finish(
    session: Session,
    run: RequestedRun,
    { execution, loss }: { readonly execution: Execution; readonly loss: Restart | null },
  ): Promise<ToolsetRun> {
    const host = await this.#parts.host.get();
    const figures = await loadFigures(execution, host.artifacts);
    const value = await this.#wholeValue(host, session, run, execution);
    const workdir = await this.#parts.setup.workdir();
    const result = {
      ...resultOf(execution, run.variable, { value, maxBytes: this.#parts.maxResultBytes }),
      ...(restartOf(execution) === null && restartFields(loss)),
      ...(await figureFields(figures, { session, workdir })),
    };
    return { result, execution, figures };
  }

  /** A value that does not fit into a message is read from a file. One that cannot be read that way stays cut. */
  async #wholeValue(
    { artifacts }: Host,
    session: Session,
    { variable, timeoutMs, signal }: RequestedRun,
    { value }: Execution,
  ): Promise<Json | undefined> {
    if (variable === undefined || value === undefined || findTruncated(value) === undefined) return value;
    const maxBytes = this.#parts.maxResultBytes;
    const request = { variable, maxBytes, maxCost: maxBytes, timeoutMs, signal };
    try {
      return (await readWholeValue(session, artifacts, request)).value ?? value;
    } catch (error) {
      if (error instanceof VivariumError) return value; // the run has its answer all the same
      throw error;
    }
  }
}

function optionsOf({ variable, timeoutMs, signal }: RequestedRun): RunOptions {
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
