/** What became of a session's state. Every receipt is made here, and nowhere else. */
import type { EarlierEvent, StateReceipt, VariableChanges } from './execution.ts';

export const NO_CHANGES: VariableChanges = { added: [], changed: [], removed: [] };
/** Most events that wait to be told. A caller that never takes a result must not make them grow. */
const MAX_UNTOLD = 8;
/** More reasons for a missing twin than our worker knows. */
const MAX_EXPLAINED = 32;

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
  /** What can be done about that. Told once. */
  readonly remedy: string | null;
}

/** What happened to the state during a run, and what a later receipt says of the run if nobody receives its own. */
export interface RunEvents {
  /** The process was lost. */
  readonly event: StateEvent | null;
  /** The process lives, but the run needs a word, such as one that was stopped. */
  readonly notice?: string | null;
  /** Told by the next receipt unless this one is acknowledged. */
  readonly ifUntold?: StateEvent | null;
}

/** What to do once a caller has a receipt. */
const acknowledgements = new WeakMap<StateReceipt, () => void>();

/** A caller has received this receipt, so that the next one need not repeat what it says. */
export function acknowledge(receipt: StateReceipt): void {
  acknowledgements.get(receipt)?.();
}

/** Follows the state of one session, and writes the receipts of its runs. */
export class StateAccount {
  #generation = 1;
  /** What happened that no caller has been told yet, oldest first. */
  #untold: readonly StateEvent[] = [];
  readonly #explained = new Set<string>();

  get generation(): number {
    return this.#generation;
  }

  /** Something happened between runs. Every receipt says it until a caller has received one. */
  note(event: StateEvent): void {
    if (event.status !== 'preserved') this.#generation += 1;
    this.#add(event);
  }

  /** The owner has undone a run. What is still to be told may be about that run. */
  rollBack(): number {
    this.#generation += 1;
    if (this.#untold.length > 0) this.#add({ status: 'preserved', reason: 'then the last change was rolled back' });
    return this.#generation;
  }

  /** The owner has asked for a fresh interpreter. Nothing before it matters any more. */
  reset(): void {
    this.#generation += 1;
    this.#untold = [];
  }

  /** The receipt of a run. What it says stays to be told until it is acknowledged. */
  receipt({ event, notice = null, ifUntold = event }: RunEvents, effect: RunEffect): StateReceipt {
    if (event !== null) this.#generation += 1;
    const { variables, unprotected, remedy } = effect;
    const isNew = unprotected !== null && remedy !== null && !this.#explained.has(remedy);
    const receipt: StateReceipt = {
      ...statusOf(event, notice, this.#untold),
      generation: this.#generation,
      variables,
      ...(unprotected !== null && { unprotected }),
      ...(isNew && { remedy }),
    };
    if (ifUntold !== null) this.#add(ifUntold);
    const told = this.#untold;
    if (told.length > 0 || isNew) {
      acknowledgements.set(receipt, () => {
        this.#untold = this.#untold.filter((one) => !told.includes(one));
        if (isNew && this.#explained.size < MAX_EXPLAINED) this.#explained.add(remedy);
      });
    }
    return receipt;
  }

  /** A restore before a loss does not matter any more. Of too many events, the oldest that cost nothing is left out. */
  #add(event: StateEvent): void {
    const before = event.status === 'lost' ? this.#untold.filter(({ status }) => status !== 'restored') : this.#untold;
    const all = [...before, event];
    if (all.length <= MAX_UNTOLD) this.#untold = all;
    else
      this.#untold = all.toSpliced(
        Math.max(
          0,
          all.findIndex(({ status }) => status === 'preserved'),
        ),
        1,
      );
  }
}

/** The receipt of a run that was cancelled before any of its code ran. It tells nothing else, and acknowledges nothing. */
export function untouchedReceipt(generation: number): StateReceipt {
  const reason = 'the run was cancelled before any of its code ran';
  return { status: 'preserved', generation, variables: NO_CHANGES, reason };
}

/** The same receipt for a run whose session has ended with it. */
export function closedReceipt(receipt: StateReceipt, reason: string): StateReceipt {
  const { earlier: _, ...rest } = receipt;
  return derived(receipt, { ...rest, status: 'lost', reason });
}

/** The same receipt with one more reason for attention. `onTold` is called when a caller has received it. */
export function remarkedReceipt(receipt: StateReceipt, reason: string, onTold?: () => void): StateReceipt {
  const remarked = derived(receipt, { ...receipt, ...withReason([receipt.reason, reason]) });
  if (onTold === undefined) return remarked;
  acknowledgements.set(remarked, () => {
    acknowledge(receipt);
    onTold();
  });
  return remarked;
}

/** What became of that which the run itself did. */
export function effectsOf({ status, earlier }: Pick<StateReceipt, 'status' | 'earlier'>): 'kept' | 'undone' | 'lost' {
  switch (status) {
    case 'preserved':
      return 'kept';
    case 'restored':
      return 'undone';
    case 'lost':
      return earlier === undefined ? 'lost' : 'kept';
  }
}

/** Acknowledging a changed copy of a receipt acknowledges the receipt. */
function derived(from: StateReceipt, receipt: StateReceipt): StateReceipt {
  const acknowledgement = acknowledgements.get(from);
  if (acknowledgement !== undefined) acknowledgements.set(receipt, acknowledgement);
  return receipt;
}

/** What a receipt says of a run, given what happened before it and has not been told. */
function statusOf(
  event: StateEvent | null,
  notice: string | null,
  untold: readonly StateEvent[],
): Pick<StateReceipt, 'status' | 'reason' | 'earlier'> {
  const earlier = earlierOf(untold);
  const notices = [notice, ...untold.filter(({ status }) => status === 'preserved').map((one) => one.reason)];
  if (event?.status === 'lost') {
    const before = earlier === undefined ? null : `before this run, ${earlier.reason}`;
    return { status: 'lost', ...withReason([event.reason, ...notices, before]) };
  }
  const isLost = event === null && earlier?.status === 'lost';
  return {
    status: isLost ? 'lost' : (event?.status ?? 'preserved'),
    ...withReason([isLost ? earlier.reason : event?.reason, ...notices]),
    ...(earlier !== undefined && { earlier }),
  };
}

function earlierOf(untold: readonly StateEvent[]): EarlierEvent | undefined {
  const events = untold.filter(({ status }) => status !== 'preserved');
  const reason = joined(events.map((one) => one.reason));
  if (reason === undefined) return undefined;
  return { status: events.some(({ status }) => status === 'lost') ? 'lost' : 'restored', reason };
}

function withReason(reasons: readonly (string | null | undefined)[]): { readonly reason?: string } {
  const reason = joined(reasons);
  return reason === undefined ? {} : { reason };
}

/** Each reason once. */
function joined(reasons: readonly (string | null | undefined)[]): string | undefined {
  const told = new Set(reasons.filter((reason) => reason !== null && reason !== undefined));
  return told.size === 0 ? undefined : [...told].join('; ');
}
