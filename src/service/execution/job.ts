import type { Event } from '../../execution/event.ts';
import type { Execution, Json } from '../../execution/execution.ts';
import type { FindingKind } from '../analysis/finding.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import type { ModeConfiguration, ExecutionMode } from '../config/schema.ts';

/** Code to run for a request. */
export interface Job {
  readonly code: string;
  readonly mode: ExecutionMode;
  readonly settings: ModeConfiguration;
  /** The kinds of findings that a reviewer approved for this code. */
  readonly approvedKinds: readonly FindingKind[];
  /** The value of `context` in the code. */
  readonly context: Readonly<Record<string, Json>> | null;
  /** Files in the working directory of the code. */
  readonly files: readonly JobFile[];
  /** The names and types that `results` should have. */
  readonly expected: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Size limit of `results` as JSON. */
  readonly maxResultsBytes: number;
  /** Runs without network and without writable mounts, to see what the code does. */
  readonly isPreview: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: (event: Event) => void;
}

export interface JobFile {
  readonly name: string;
  /** Reads the content. Called for each session that needs it. */
  read(): AsyncIterable<Uint8Array>;
}

/** The result of a job. The session has ended; its artifacts are kept. */
export interface JobResult {
  /** When the code started, as ISO 8601 text, because results are stored as JSON. */
  readonly startedAt: string;
  readonly execution: Execution;
  /** The Python that ran it: a path on this machine, or the name of a kernel. */
  readonly python: string;
  /** What it printed and displayed, in order. */
  readonly outputs: readonly TranscriptItem[];
  /** The Python types of `results`, as the session reports them. */
  readonly resultTypes: Json | undefined;
  /** What a preview tried to do beyond its own process, as the session reports it. */
  readonly attempts: Json | undefined;
  /** Files that a preview left in its workspace, as the host sees them from outside. */
  readonly leftFiles: readonly LeftFile[];
}

export interface LeftFile {
  readonly path: string;
  readonly sizeBytes: number;
}

/** A run as the graph continues with it. */
export type FinishedRun = Pick<JobResult, 'startedAt' | 'python' | 'execution' | 'outputs' | 'resultTypes'>;

/** A preview that approval can commit. */
export type PreviewedRun = FinishedRun & { readonly codeSha256: string };

/** Where code runs. */
export interface CodeExecutor extends AsyncDisposable {
  run(job: Job): Promise<JobResult>;
}
