import type { Truncation } from './execution.ts';

/** A program of the system that runs in a session, beside its Python. */
export interface Command {
  /** Its number, as the processes of the session see it. */
  readonly pid: number;
  /** How it ended, once it has. Throws what `onOutput` has thrown. */
  readonly result: Promise<ExecResult>;
  /** Writes to its standard input. Resolves when the program may be given more, and also if it reads no more. */
  write(data: string | Uint8Array): Promise<void>;
  /** Ends its standard input. */
  closeInput(): void;
  /**
   * Sends a signal to its process group. `SIGKILL`, the default, ends everything that it has started, except for what
   * has left its terminal session. False if it has ended already.
   */
  kill(signal?: NodeJS.Signals): Promise<boolean>;
}

/** Text that a command has printed. */
export interface CommandOutput {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** How a command ended, and what it printed. Decided outside of the session. */
export interface ExecResult {
  /** Null if a signal ended it. 127 if there is no such program, and 126 if it could not be started. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Present if output went over its budget (`limits.outputBytes`). */
  readonly truncated?: { readonly stdout?: Truncation; readonly stderr?: Truncation };
  /** Whether it was ended because its time was over. */
  readonly timedOut: boolean;
  /** Why it was ended, if it did not end by itself. */
  readonly reason?: string;
  readonly durationMs: number;
}
