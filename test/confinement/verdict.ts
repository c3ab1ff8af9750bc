/** How an attempt ended, on both sides of the walls, and what became of the session and its neighbour. */

export type Verdict = 'ESCAPED' | 'CONTAINED' | 'ABSENT' | 'BROKEN' | 'HUNG';

export interface Finding {
  readonly verdict: Verdict;
  readonly detail: string;
}

/** One row of the table. */
export interface Row {
  readonly id: string;
  /** Null where it was not tried. */
  readonly unconfined: Finding | null;
  readonly confined: Finding;
  /** What the session said about its state after the attempt. */
  readonly state: string;
  /** `works`, or what was wrong with the next run of the session. */
  readonly next: string;
  /** `intact`, or what was wrong with another session. */
  readonly neighbour: string;
  readonly ms: number;
}

/** What a runner prints, one line of JSON each. */
export type Line =
  | { readonly type: 'unavailable'; readonly problem: string }
  | { readonly type: 'ready'; readonly hasAllCapabilities: boolean; readonly guards: readonly string[] }
  | { readonly type: 'row'; readonly row: Row }
  | { readonly type: 'end'; readonly leftovers: readonly string[] };

const WORDS = ['ESCAPED', 'CONTAINED', 'ABSENT'] as const;

/** The word that a program printed as its verdict, if it came to that. */
export function wordOf(output: string): Finding | null {
  const line = output.split('\n').findLast((text) => WORDS.some((word) => text.startsWith(word)));
  const verdict = WORDS.find((word) => line?.startsWith(word));
  return line === undefined || verdict === undefined ? null : { verdict, detail: line.slice(verdict.length).trim() };
}

export function contained(detail = ''): Finding {
  return { verdict: 'CONTAINED', detail };
}

export function escaped(detail: string): Finding {
  return { verdict: 'ESCAPED', detail };
}

export function broken(detail: string): Finding {
  return { verdict: 'BROKEN', detail };
}
