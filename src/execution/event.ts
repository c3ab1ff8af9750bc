import type {
  Execution,
  Json,
  NetworkConnection,
  ProducedFigure,
  ProducedFile,
  Result,
  ResultTruncation,
  StreamBytes,
} from './execution.ts';

/** Something that happened while code ran. The last event of a stream is `done`. */
export type Event =
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** `picture` numbers the pictures of the run. */
  | { readonly type: 'result'; readonly result: Result; readonly picture?: number }
  /** Everything shown so far is to be dropped: `clear_output()`. */
  | { readonly type: 'clear' }
  /** A program wanted to reach a host. Only where the network is a list. */
  | { readonly type: 'network'; readonly connection: NetworkConnection }
  /** A file that the run wrote or changed. Comes when the code has ended. */
  | { readonly type: 'file'; readonly file: ProducedFile }
  /** A picture that the run showed or saved, kept under an id. Comes when the code has ended. */
  | { readonly type: 'figure'; readonly figure: ProducedFigure }
  | { readonly type: 'done'; readonly summary: Summary };

/** Gets all events but `done`, and none while the promise it returned is pending. If it throws, the program is stopped. */
export type Listener = (event: Event) => Promise<void> | void;

/** What is known only at the end: all of an Execution that is not folded from other events. */
export type Summary = Omit<Execution, 'logs' | 'results' | 'transcript' | 'truncated' | 'files' | 'figures'> & {
  readonly outputBytes: StreamBytes;
  /** Why some output never arrived. */
  readonly dropped?: string;
  /** How much of what the run showed was left out. */
  readonly cut?: ResultTruncation;
  /** How many connections of the run are not in `network`. */
  readonly omittedConnections?: number;
  /** How many files of the workspace at least were not looked at for changes. */
  readonly unseenFiles?: number;
  /** False if the code only looked at things, and so wrote no file either. */
  readonly mayHaveWritten: boolean;
  /** Figures that the program saved as files. */
  readonly savedFigures?: readonly SavedFigure[];
};

export interface SavedFigure {
  /** Relative to the workspace. */
  readonly path: string;
  readonly title?: string;
  readonly chart?: Json;
  /** Which picture of the run shows the same figure. */
  readonly picture?: number;
}
