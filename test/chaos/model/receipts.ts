/** Compares the answer of a run with what the program does in a given state. */
import { isDeepStrictEqual } from 'node:util';
import type { Execution, Json, StateReceipt } from '../../../src/execution/execution.ts';
import type { Outcome } from '../../../src/execution/outcome.ts';
import { untouchedReceipt } from '../../../src/execution/state.ts';
import { follow, lastOf, openedBy, type Course, type Moment, type Program } from './programs.ts';
import { changesBetween, writtenBetween, type State } from './state.ts';

/**
 * `status` is about the run itself; `earlier` says what happened between the last receipt that a caller has received and
 * this run. `lost` with `earlier` means that the run began in a fresh interpreter and that what it did is kept.
 */
export type Receipt = StateReceipt & {
  readonly earlier?: { readonly status: 'restored' | 'lost'; readonly reason: string };
};

/** What a caller learns from a run. */
export interface Answer {
  readonly outcome: Outcome;
  readonly state: Receipt;
  readonly error?: { readonly name: string } | undefined;
  readonly value?: Json | undefined;
  readonly stdout: string;
  readonly shown?: string | undefined;
  /** Paths that the run says it wrote, sorted. */
  readonly files: readonly string[];
  /** False if the run was cancelled while it waited. */
  readonly hasRun: boolean;
  /** False if the receipt leaves it to a later one to say what happened before. */
  readonly tellsEarlier: boolean;
  readonly isCut: boolean;
}

/** An answer, and the state in which its run may have begun. */
export interface RunCase {
  readonly program: Program;
  readonly answer: Answer;
  readonly start: State;
  /** A fresh interpreter on the files of the start. */
  readonly fresh: State;
  /** Files of earlier runs that it may name. */
  readonly untold: readonly string[];
}

/** A state that the session may hold after the run; `isOwn` if the program made it. */
export interface Possible {
  readonly state: State;
  readonly isOwn: boolean;
}

export function answerOf(execution: Execution): Answer {
  const { outcome, state, error, value, logs, results, files, truncated, durationMs } = execution;
  return {
    outcome,
    state,
    error,
    value,
    stdout: logs.stdout,
    shown: results.find(({ kind }) => kind === 'result')?.data['text/plain'],
    files: ownFiles(files.map(({ path }) => path)),
    hasRun: !(outcome.status === 'cancelled' && durationMs === 0),
    tellsEarlier: state.reason !== untouchedReceipt(state.generation).reason,
    isCut: truncated !== undefined,
  };
}

/** Without the files that keep long outputs. */
export function ownFiles(paths: readonly string[]): string[] {
  return paths.filter((path) => !path.startsWith('.output/')).toSorted();
}

/** The states that a run may have led to if it began in `start` and this is its answer. `refuse` hears why there are none. */
export function endingsOf(one: RunCase, refuse: (why: string) => void): Possible[] {
  const { program, answer, start, fresh, untold } = one;
  const course = follow(program, start);
  const problem = problemOf(one, course);
  if (problem !== null) {
    refuse(problem);
    return [];
  }
  const own = momentsOf(course, answer).map(({ state }) => ({ state, isOwn: true }));
  const candidates = fatesOf(answer, { own, course, start, fresh });
  const told = candidates.filter(({ state, isOwn }) => isTold(answer, start, state, isOwn));
  if (told.length === 0) refuse(`the receipt names other variables than changed`);
  const opened = hasReachedEnd(answer) ? [] : openedBy(program);
  const fitting = told.filter(({ state }) => {
    const others = [...untold, ...opened.filter((path) => Object.hasOwn(state.files, path))];
    return hasNamedFiles(answer, writtenBetween(start, state), others);
  });
  if (told.length > 0 && fitting.length === 0) {
    refuse(`the run says it wrote [${answer.files.join(', ')}], which is not what it wrote`);
  }
  return fitting;
}

/** A receipt that does not name every file must say why. */
function hasNamedFiles(
  { files: named, state }: Answer,
  written: readonly string[],
  others: readonly string[],
): boolean {
  const isMissing = written.some((path) => !named.includes(path));
  return (
    (!isMissing || state.reason !== undefined) && named.every((path) => written.includes(path) || others.includes(path))
  );
}

/** What cannot be, whatever became of the state. */
function problemOf({ program, answer, start }: RunCase, course: Course): string | null {
  const { outcome, state, error, value, shown } = answer;
  const { end } = course;
  const hasEnded = outcome.status === 'succeeded' || outcome.status === 'raised';
  const isLostEarlier = state.earlier?.status === 'lost';
  if (hasEnded && state.status !== (isLostEarlier ? 'lost' : 'preserved')) {
    return `${outcome.status} with a state that is ${state.status}`;
  }
  if (isLostEarlier && state.status === 'preserved') return 'lost earlier, but preserved';
  if (outcome.status === 'succeeded' && end !== 'succeeds') return 'succeeded, which it cannot in this state';
  if (outcome.status === 'raised' && !isStarved(answer)) {
    if (typeof end !== 'object') return `raised ${error?.name}, which it cannot in this state`;
    if (end.raises !== error?.name) return `raised ${error?.name} instead of ${end.raises}`;
  }
  if (outcome.status === 'succeeded') {
    const after = lastOf(course.moments).state;
    if (program.value !== undefined && !isDeepStrictEqual(value, program.value(after))) {
      return 'the value is not that of this state';
    }
    if (program.shows !== undefined && shown !== program.shows(start)) return `showed ${shown}`;
  }
  return outputProblem(answer, lastOf(course.moments).output);
}

function outputProblem(answer: Answer, expected: string): string | null {
  const { stdout, isCut } = answer;
  if (isCut) return null;
  if (hasReachedEnd(answer)) return stdout === expected ? null : 'printed something else';
  return expected.startsWith(stdout) || stdout.startsWith(expected) ? null : 'printed something else before it ended';
}

/** Where the program may have been when it ended. */
function momentsOf({ moments }: Course, answer: Answer): readonly Moment[] {
  if (!answer.hasRun) return moments.slice(0, 1);
  return hasReachedEnd(answer) ? [lastOf(moments)] : moments;
}

function hasReachedEnd(answer: Answer): boolean {
  const { status } = answer.outcome;
  return status === 'succeeded' || (status === 'raised' && !isStarved(answer));
}

/** Whether a step failed for want of something that the machine did not have. No program raises this by itself. */
export function isStarved({ outcome, error }: Answer): boolean {
  return outcome.status === 'raised' && error?.name === 'OSError';
}

interface Fates {
  readonly own: readonly Possible[];
  readonly course: Course;
  readonly start: State;
  readonly fresh: State;
}

/** A process that a run has lost leaves the files that it had written until then. */
function fatesOf({ state }: Answer, { own, course, start, fresh }: Fates): readonly Possible[] {
  const atAnyMoment = (variables: State['variables']): Possible[] =>
    course.moments.map(({ state: { files } }) => ({ state: { variables, files }, isOwn: false }));
  switch (state.status) {
    case 'preserved':
      return own;
    case 'restored':
      return atAnyMoment(start.variables);
    case 'lost':
      return state.earlier?.status === 'lost' ? own : atAnyMoment(fresh.variables);
  }
}

/** Whether the receipt names exactly the variables that the run changed. Of a run that was undone it names none. */
function isTold({ state: { variables } }: Answer, before: State, after: State, isOwn: boolean): boolean {
  const { added, changed, removed } = isOwn ? changesBetween(before, after) : changesBetween(before, before);
  return isDeepStrictEqual([variables.added, variables.changed, variables.removed], [added, changed, removed]);
}
