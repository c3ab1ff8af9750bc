import type { Execution, Json, ProducedFigure, ProducedFile, Result, StreamBytes } from './execution.ts';

/** Something that happened while code ran. The last event of a stream is `done`. */
export type Event =
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** `picture` numbers the pictures of the run. */
  | { readonly type: 'result'; readonly result: Result; readonly picture?: number }
  /** What was shown so far is to be dropped: `clear_output()`. */
  | { readonly type: 'clear' }
  /** A file that the run wrote or changed; known when the code has ended. */
  | { readonly type: 'file'; readonly file: ProducedFile }
  /** A picture that the run showed or saved, kept under an id; known when the code has ended. */
  | { readonly type: 'figure'; readonly figure: ProducedFigure }
  | { readonly type: 'done'; readonly summary: Summary };

/** Hears events as they come, all but `done`. Nothing further is told while what it returns is pending; if it throws, the program is stopped. */
export type Listener = (event: Event) => Promise<void> | void;

/** What is known only at the end: everything of an Execution that is not folded from its other events. */
export type Summary = Omit<Execution, 'logs' | 'results' | 'transcript' | 'truncated' | 'files' | 'figures'> & {
  readonly outputBytes: StreamBytes;
  /** Why output is missing that did not even arrive. */
  readonly dropped?: string;
  /** False when the code only looked at things: then it has written no file either. */
  readonly mayHaveWritten: boolean;
  /** Figures that the program saved as files. */
  readonly savedFigures?: readonly SavedFigure[];
};

export interface SavedFigure {
  /** In the workspace. */
  readonly path: string;
  readonly title?: string;
  readonly chart?: Json;
  /** Which picture of the run shows the same figure. */
  readonly picture?: number;
}
