/** Everything that a session may hold, given all the answers so far. An answer that fits none of it is a lie. */
import { follow, lastOf, openedBy, type Program } from './programs.ts';
import { EMPTY, keyOf, withFile, writtenBetween, type State } from './state.ts';
import { endingsOf, type Answer, type Possible, type RunCase } from './receipts.ts';

/** What happened to the state since the caller received a receipt, besides what its calls did. */
export type Since = 'nothing' | 'restored' | 'lost';

export interface Belief {
  readonly state: State;
  /** What `rollback` would go back to; null if there is nothing. */
  readonly undo: State | null;
  /** Files that were uploaded after the run that `rollback` would undo. */
  readonly uploaded: Readonly<Record<string, string>>;
  /** Files that runs wrote whose answers nobody received. The next receipt may name them. */
  readonly untold: readonly string[];
  readonly since: Since;
}

/** More possibilities than this say that a session was not read back for too long. */
const MAX_BELIEFS = 5000;

export class Lie extends Error {
  override readonly name = 'Lie';
}

export class Beliefs {
  readonly #fresh: State;
  #possible: readonly Belief[];

  /** `variables` are what init code leaves in a fresh interpreter. */
  constructor(variables: State['variables']) {
    this.#fresh = { ...EMPTY, variables };
    this.#possible = [{ state: this.#fresh, undo: null, uploaded: {}, untold: [], since: 'nothing' }];
  }

  get count(): number {
    return this.#possible.length;
  }

  /** One of the states that the session may hold. */
  get guess(): State {
    return lastOf(this.#possible).state;
  }

  /** Whether a rollback has something to go back to, whichever belief is true. */
  get canSurelyRollBack(): boolean {
    return this.#possible.every(({ undo }) => undo !== null);
  }

  get list(): readonly Belief[] {
    return this.#possible;
  }

  /** A run has answered with a receipt. */
  learn(program: Program, answer: Answer): void {
    const failures = new Set<string>();
    const next = this.#possible.flatMap((belief) =>
      this.#starts(belief, answer).flatMap((start) =>
        endingsOf(this.#caseOf(program, answer, start), (why) => failures.add(why)).flatMap((end) =>
          afterRun(program, answer, start, end),
        ),
      ),
    );
    if (next.length === 0) {
      const why = [...failures].join('; ') || `a loss or a restore before this run was not told, or told twice`;
      throw new Lie(why);
    }
    this.#believe(next);
  }

  /** A run took place whose receipt nobody has received. It may have done any part of its work, or been lost. */
  learnNothing(program: Program, isComplete: boolean): void {
    this.#believe(
      this.#disturbed().flatMap((start) => {
        const { moments } = follow(program, start.state);
        return (isComplete ? moments.slice(-1) : moments).flatMap(({ state }) => {
          const written = isComplete ? writtenBetween(start.state, state) : openedBy(program);
          const untold = [...new Set([...start.untold, ...written])].toSorted();
          const went = changed(program, start, state, !isComplete);
          const restored = { ...start, state: { ...start.state, files: state.files }, undo: null };
          const since = worse(start.since, 'restored');
          const lost = this.#lost({ ...start, state });
          return (isComplete ? went : [...went, { ...restored, since }, lost]).map((one) => ({ ...one, untold }));
        });
      }),
    );
  }

  /** Keeps only what agrees with something that was seen from outside. A loss or restore may have happened before it. */
  observe(what: string, agrees: (state: State) => boolean): void {
    this.#filter(what, this.#disturbed(), ({ state }) => agrees(state));
  }

  /** Something was asked of the session that failed and changes nothing. */
  disturb(): void {
    this.#believe(this.#disturbed());
  }

  rolledBack(files: string): void {
    const isRestored = files === 'restored';
    const isInPart = files.startsWith('restored in part');
    const next = this.#disturbed().flatMap((belief) => {
      const { undo, state, uploaded } = belief;
      if (undo === null) return [];
      const settled = { ...belief, undo: null, uploaded: {} };
      if (isInPart)
        return mixtures(undo.files, state.files).map((mixed) => ({ ...settled, state: { ...undo, files: mixed } }));
      if (!isRestored) return [{ ...settled, state: { ...undo, files: state.files } }];
      // Whether files that were uploaded since then stay is not promised.
      return [
        { ...settled, state: undo },
        { ...settled, state: { ...undo, files: { ...undo.files, ...uploaded } } },
      ];
    });
    if (next.length === 0) throw new Lie('a rollback succeeded although there was nothing to go back to');
    this.#believe(next);
  }

  reset(): void {
    const pristine = this.#possible.map(({ state, untold }) => ({
      state: this.#freshWith(state),
      undo: null,
      uploaded: {},
      untold,
      since: 'nothing' as const,
    }));
    this.#believe(pristine);
    this.disturb(); // its init code may have been lost and restored
  }

  /** A reset has failed: it may have taken place all the same. */
  failedToReset(): void {
    const before = this.#disturbed();
    this.reset();
    this.#believe([...before, ...this.#possible]);
  }

  /** A file was uploaded. It is there whatever else happened, unless the upload failed. */
  uploaded(path: string, content: string, isSure: boolean): void {
    const next = this.#possible.map((belief) => ({
      ...belief,
      state: withFile(belief.state, path, content),
      uploaded: { ...belief.uploaded, [path]: content },
    }));
    this.#believe(isSure ? next : [...this.#possible, ...next]);
  }

  /** In which states the session may have begun the run that this is the answer of. */
  #starts(belief: Belief, { state: receipt, tellsEarlier }: Answer): Belief[] {
    const { earlier } = receipt;
    if (!tellsEarlier) return this.#disturbedFrom(belief);
    const told = { ...belief, since: 'nothing' as const };
    switch (earlier?.status) {
      case undefined: // after a loss by the run itself, what happened before it does not matter
        return belief.since === 'nothing' || receipt.status === 'lost' ? [told] : [];
      case 'restored':
        return belief.since === 'lost' ? [] : [{ ...told, undo: null }, ...(belief.since === 'restored' ? [told] : [])];
      case 'lost': {
        const lost = { ...this.#lost(belief), since: 'nothing' as const };
        return belief.since === 'lost' ? [lost, told] : [lost];
      }
    }
  }

  /** What may be true a moment later, when a process may have been lost. */
  #disturbed(): Belief[] {
    return distinct(this.#possible.flatMap((belief) => this.#disturbedFrom(belief)));
  }

  #disturbedFrom(belief: Belief): Belief[] {
    return [belief, { ...belief, undo: null, since: worse(belief.since, 'restored') }, this.#lost(belief)];
  }

  #lost({ state, untold }: Belief): Belief {
    return { state: this.#freshWith(state), undo: null, uploaded: {}, untold, since: 'lost' };
  }

  #caseOf(program: Program, answer: Answer, { state: start, untold }: Belief): RunCase {
    return { program, answer, start, untold, fresh: this.#freshWith(start) };
  }

  /** A fresh interpreter on the same files. */
  #freshWith({ files }: State): State {
    return { ...this.#fresh, files };
  }

  #filter(what: string, beliefs: readonly Belief[], agrees: (belief: Belief) => boolean): void {
    const next = beliefs.filter(agrees);
    if (next.length === 0) throw new Lie(what);
    this.#believe(next);
  }

  #believe(beliefs: readonly Belief[]): void {
    this.#possible = distinct(beliefs);
    if (this.#possible.length > MAX_BELIEFS) throw new Error(`${this.#possible.length} states are possible`);
  }
}

function distinct(beliefs: readonly Belief[]): Belief[] {
  const byKey = new Map(
    beliefs.map((belief) => {
      const { since, state, undo, uploaded, untold } = belief;
      return [`${since} ${keyOf(state)} ${keyOf(undo)} ${JSON.stringify([uploaded, untold])}`, belief];
    }),
  );
  return [...byKey.values()];
}

/** A run that was lost leaves nothing to roll back to. */
function afterRun(program: Program, answer: Answer, start: Belief, { state, isOwn }: Possible): Belief[] {
  const { outcome, hasRun, files } = answer;
  if (!hasRun) return [start];
  // Files are not looked for after a look, nor after a run that was stopped before it did anything.
  const hasLooked = !program.isLook && answer.state.reason === undefined;
  const written = hasLooked ? [] : [...start.untold, ...openedBy(program)];
  const told = { ...start, untold: [...new Set(written)].filter((path) => !files.includes(path)).toSorted() };
  if (!isOwn) return [{ ...told, state, undo: null, uploaded: {} }];
  return changed(program, told, state, outcome.status === 'cancelled' || outcome.status === 'timed-out');
}

/** A look leaves what there was to roll back to, as does a run that was stopped before its first step. */
function changed({ isLook }: Program, start: Belief, state: State, isStopped: boolean): Belief[] {
  if (isLook) return [{ ...start, state }];
  const after = { ...start, state, undo: start.state, uploaded: {} };
  return isStopped && state === start.state ? [start, after] : [after];
}

function worse(one: Since, other: Since): Since {
  return one === 'lost' || other === 'lost' ? 'lost' : one === 'restored' || other === 'restored' ? 'restored' : one;
}

/** Every way to have some files as in the one, and the others as in the other. */
function mixtures(one: State['files'], other: State['files']): State['files'][] {
  const paths = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return paths.reduce<State['files'][]>(
    (all, path) => all.flatMap((files) => [withFileOf(files, path, one), withFileOf(files, path, other)]),
    [{}],
  );
}

function withFileOf(files: State['files'], path: string, from: State['files']): State['files'] {
  const content = from[path];
  return content === undefined ? files : { ...files, [path]: content };
}
