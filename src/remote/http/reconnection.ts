import { setTimeout as pause } from 'node:timers/promises';
import { VivariumError, type ErrorCode } from '../../errors.ts';
import { ConnectionLost } from './connection-lost.ts';

/** Together less than the 30 seconds for which a server goes on with a run that nobody waits for. */
const PAUSES_MS = [0, 50, 150, 400, 1000, 2000, 3000, 4000, 5000, 5000] as const;

/** A server that says so may be there again soon. */
const PASSING: ReadonlySet<ErrorCode> = new Set(['SERVER_CLOSING', 'RATE_LIMITED']);
/** A server that says so does not know what became of the code. */
const FORGOTTEN: ReadonlySet<ErrorCode> = new Set(['IDEMPOTENCY_IN_DOUBT', 'RUN_NOT_FOUND', 'COMMAND_NOT_FOUND']);

/** Tries to get back to something that a server does, for as long as the server keeps it. */
export class Reconnection {
  /** What it is about, as the object of a sentence. */
  readonly #what: string;
  #pauses: readonly number[] = PAUSES_MS;
  /** Whether the server may have begun. */
  #hasBegun: boolean;

  constructor(what: string, hasBegun = false) {
    this.#what = what;
    this.#hasBegun = hasBegun;
  }

  /** The server has answered. */
  onAnswer(): void {
    this.#hasBegun = true;
  }

  /** Something new has come. */
  onProgress(): void {
    this.#pauses = PAUSES_MS;
  }

  /** Returns when it is time for the next attempt. Throws if there should be none. */
  async onFailure(error: unknown): Promise<void> {
    if (!(error instanceof VivariumError)) throw error;
    this.#hasBegun ||= error instanceof ConnectionLost && error.wasSent;
    if (!this.#hasBegun && error.code !== 'IDEMPOTENCY_IN_DOUBT') throw error; // it does not run there
    if (FORGOTTEN.has(error.code)) throw this.#unknown(error);
    if (!(error instanceof ConnectionLost) && !PASSING.has(error.code)) throw error;
    const [pauseMs, ...pauses] = this.#pauses;
    if (pauseMs === undefined) throw this.#unknown(error);
    this.#pauses = pauses;
    await pause(pauseMs);
  }

  #unknown(cause: VivariumError): VivariumError {
    return new VivariumError(
      'OUTCOME_UNKNOWN',
      `What became of ${this.#what} is not known: ${cause.message} It is not sent again by itself.`,
      { cause },
    );
  }
}
