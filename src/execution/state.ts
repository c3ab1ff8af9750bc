/** What became of a session's state. Every receipt is made here, and nowhere else. */
import type { StateReceipt, VariableChanges } from './execution.ts';

export const NO_CHANGES: VariableChanges = { added: [], changed: [], removed: [] };

/** Something that happened to the state besides what the code did. `preserved`: it needs attention but cost nothing. */
export interface StateEvent {
  readonly status: StateReceipt['status'];
  readonly reason: string;
}

/** What a run did to the state by itself. */
export interface RunEffect {
  readonly variables: VariableChanges;
  /** Why a crash of the next run could not be undone, if so. */
  readonly unprotected: string | null;
}

/** Follows the state of one session, and writes the receipts of its runs. */
export class StateAccount {
  #generation = 1;
  /** What happened between runs and no receipt has said yet. */
  #pending: StateEvent | null = null;

  get generation(): number {
    return this.#generation;
  }

  /** Something happened between runs. The next receipt says it. The first event counts, unless the state is lost later. */
  note(event: StateEvent): void {
    if (event.status !== 'preserved') this.#generation += 1;
    if (event.status === 'lost' || this.#pending === null) this.#pending = event;
  }

  /** The owner has undone a run. */
  rollBack(): number {
    this.#generation += 1;
    return this.#generation;
  }

  /** The owner has asked for a fresh interpreter, so nothing before it matters. */
  reset(): void {
    this.#generation += 1;
    this.#pending = null;
  }

  /** The receipt of a run. `event` is what happened to the state during the run. */
  receipt(event: StateEvent | null, { variables, unprotected }: RunEffect): StateReceipt {
    if (event !== null) this.#generation += 1;
    const pending = event?.status === 'lost' ? null : this.#pending;
    this.#pending = null;
    const reason = pending?.reason ?? event?.reason;
    const isWorse = pending !== null && pending.status !== 'preserved';
    return {
      status: isWorse ? pending.status : (event?.status ?? 'preserved'),
      generation: this.#generation,
      variables,
      ...(unprotected !== null && { unprotected }),
      ...(reason !== undefined && { reason }),
    };
  }
}

/** The receipt of a run that was cancelled before any of its code ran. */
export function untouchedReceipt(generation: number): StateReceipt {
  return { status: 'preserved', generation, variables: NO_CHANGES };
}

/** The same receipt for a state that is not what its user believes it to be. */
export function lostReceipt(receipt: StateReceipt, reason: string): StateReceipt {
  return { ...receipt, status: 'lost', reason };
}

/** The same receipt with one more reason for attention. */
export function remarkedReceipt(receipt: StateReceipt, reason: string): StateReceipt {
  return { ...receipt, reason: receipt.reason === undefined ? reason : `${receipt.reason}; ${reason}` };
}
