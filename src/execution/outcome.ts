/** How an execution ended. Whatever the program did is an outcome, never an exception. */
export type Outcome =
  | { readonly status: 'succeeded' }
  | { readonly status: 'raised' }
  | { readonly status: 'timed-out'; readonly limit: 'wall' | 'cpu'; readonly limitMs: number }
  | { readonly status: 'cancelled' }
  | { readonly status: 'out-of-memory'; readonly limitMb: number }
  | {
      readonly status: 'crashed';
      readonly signal: string | null;
      readonly exitCode: number | null;
      /** What happened, in words. */
      readonly reason: string;
      /** Set if the connection to the program broke off. It is not the program's fault, and its fate is unknown. */
      readonly cause?: 'connection';
    };

/** An uncaught Python exception. */
export interface PythonError {
  readonly name: string;
  readonly value: string;
  readonly traceback: string;
}
