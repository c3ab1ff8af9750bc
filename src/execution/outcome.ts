/** How an execution ended. Whatever the *program* did is an outcome, never an exception. */
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
      /** Where the program had no part in it: the way to where it runs broke off, and what became of it is not known. */
      readonly cause?: 'connection';
    };

/** Whether the program came to its own end, rather than being stopped or lost. */
export function hasEndedByItself({ status }: Outcome): boolean {
  return status === 'succeeded' || status === 'raised';
}

/** An uncaught Python exception. */
export interface PythonError {
  readonly name: string;
  readonly value: string;
  readonly traceback: string;
}
