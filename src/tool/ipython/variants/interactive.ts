import { z } from 'zod';
import { parse } from '../../../config.ts';
import type { ActionReturn } from '../../action/contract.ts';
import { IPythonInterpreter } from '../ipython.ts';
import type { IPythonOptions } from '../options.ts';
import { TIMED_OUT } from './async.ts';
import { BatchIPythonInterpreter } from './batch.ts';

/** The options of `IPythonInteractive`. */
export interface IPythonInteractiveOptions extends IPythonOptions {
  /** The longest text of a result: its head and tail are kept. Negative for no limit. */
  readonly maxOutLen?: number;
  /** Another name of `maxOutLen`. */
  readonly max_out_len?: number;
  /** No effect: the time limit needs no signals of this process, so it holds in every thread. */
  readonly use_signals?: boolean;
}

const Own = z.strictObject({
  maxOutLen: z.int().optional(),
  max_out_len: z.int().optional(),
  use_signals: z.boolean().optional(),
});

/** An `IPythonInterpreter` for short answers: 30 seconds, and 8192 characters of output. */
export class IPythonInteractive extends IPythonInterpreter {
  readonly maxOutLen: number;

  constructor({ maxOutLen, max_out_len, use_signals, timeout = 30, ...rest }: IPythonInteractiveOptions = {}) {
    const own = parse(Own, { maxOutLen, max_out_len, use_signals });
    const length = own.maxOutLen ?? own.max_out_len ?? 8192;
    super({ ...rest, timeout }, { name: 'IPythonInteractive', maxTextChars: length < 0 ? null : length });
    this.maxOutLen = length;
  }

  get max_out_len(): number {
    return this.maxOutLen;
  }
}

/** The options of `IPythonInteractiveManager`. */
export interface IPythonInteractiveManagerOptions extends IPythonOptions {
  /** The most commands that run at the same time. */
  readonly maxWorkers?: number;
  /** Another name of `maxWorkers`. */
  readonly max_workers?: number;
  /** No effect: sessions share nothing that a lock would have to guard. */
  readonly ci_lock?: string | null;
}

const MaxWorkers = z.int().positive().optional();
const OwnOfManager = z.strictObject({
  maxWorkers: MaxWorkers,
  max_workers: MaxWorkers,
  ci_lock: z.string().nullish(),
});

/** Runs lists of commands, each in the session of its id, and up to 50 at the same time. */
export class IPythonInteractiveManager extends BatchIPythonInterpreter {
  override readonly name = 'IPythonInteractiveManager';
  readonly maxWorkers: number;

  constructor({ maxWorkers, max_workers, ci_lock, ...rest }: IPythonInteractiveManagerOptions = {}) {
    const own = parse(OwnOfManager, { maxWorkers, max_workers, ci_lock });
    super(rest);
    this.maxWorkers = own.maxWorkers ?? own.max_workers ?? 50;
  }

  protected override async runAll(runs: readonly (() => Promise<ActionReturn>)[]): Promise<ActionReturn[]> {
    const results: ActionReturn[] = [];
    const open = runs.entries();
    const work = async (): Promise<void> => {
      for (const [index, run] of open) results[index] = await run();
    };
    await Promise.all(Array.from({ length: this.maxWorkers }, work));
    return results;
  }

  protected override create(options: IPythonOptions): IPythonInterpreter {
    return new IPythonInterpreter(options, { name: this.name, describeTimeout: () => TIMED_OUT });
  }
}
