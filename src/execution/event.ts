import type { Execution, ProducedFile, Result, StreamBytes } from './execution.ts';

/** Something that happened while code ran. The last event of a stream is `done`. */
export type Event =
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'result'; readonly result: Result }
  /** What was shown so far is to be dropped: `clear_output()`. */
  | { readonly type: 'clear' }
  /** A file that the run wrote or changed; known when the code has ended. */
  | { readonly type: 'file'; readonly file: ProducedFile }
  | { readonly type: 'done'; readonly summary: Summary };

/** What is known only at the end: everything of an Execution that is not folded from its other events. */
export type Summary = Omit<Execution, 'logs' | 'results' | 'truncated' | 'files'> & {
  readonly outputBytes: StreamBytes;
  /** Why output is missing that did not even arrive. */
  readonly dropped?: string;
  /** False when the code only looked at things: then it has written no file either. */
  readonly mayHaveWritten: boolean;
};
