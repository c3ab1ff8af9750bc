/** What happens in a host or a server, for those who keep logs. Nothing is logged by default. */

/** Something that happened. Besides these fields it has those that belong to its event; see docs/server.md. */
export interface LogEntry {
  readonly level: 'info' | 'warn' | 'error';
  /** What happened, such as `session-opened`, `run-ended` or `request`. */
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Gets entries one by one. It must not throw, and nobody waits for it. */
export type Logger = (entry: LogEntry) => void;
