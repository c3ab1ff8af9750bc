/** What came of sending many messages. */
export interface FuzzOutcome {
  /** How many messages were sent, and what became of them, in words. */
  readonly counts: Readonly<Record<string, number>>;
  /** What must never happen; empty if all is well. */
  readonly problems: readonly string[];
  /** What else is worth knowing. */
  readonly summary?: string;
}

export interface FuzzOptions {
  readonly frames: number;
  readonly seed: number;
}
