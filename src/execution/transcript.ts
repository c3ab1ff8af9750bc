import type { Result } from './execution.ts';

/** Something that a run printed or showed; a list of these is in the order in which they came. */
export type TranscriptItem =
  | { readonly type: 'text'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'result'; readonly result: Result };
