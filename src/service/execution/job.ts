import type { Event } from '../../execution/event.ts';
import type { Execution, Json } from '../../execution/execution.ts';
import type { FindingKind } from '../analysis/finding.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import type { ModeConfiguration, ExecutionMode } from '../config/schema.ts';

/** Code to be run for a request. */
export interface Job {
  readonly code: string;
  readonly mode: ExecutionMode;
  readonly settings: ModeConfiguration;
  /** What somebody has approved for this very code, by kind of finding. */
  readonly approvedKinds: readonly FindingKind[];
  /** `context` in the code. */
  readonly context: Readonly<Record<string, Json>> | null;
  /** Files that the code finds beside it. */
  readonly files: readonly JobFile[];
  /** Names that `results` is to have. */
  readonly expected: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Of `results` as JSON. */
  readonly maxResultsBytes: number;
  /** Run behind walls to see what it does; nothing that it does gets out. */
  readonly isPreview: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: (event: Event) => void;
}

export interface JobFile {
  readonly name: string;
  /** Its content; called for each session that needs it. */
  read(): AsyncIterable<Uint8Array>;
}

/** The result of a job. The session has ended; its artifacts are kept. */
export interface JobResult {
  /** When the code began to run, as ISO 8601 text: results are kept as JSON. */
  readonly startedAt: string;
  readonly execution: Execution;
  /** The interpreter that ran it: a path of this machine, or the name of a kernel. */
  readonly python: string;
  /** What it printed and showed, in order. */
  readonly outputs: readonly TranscriptItem[];
  /** What the items of `results` are in Python, by name; the session's own word. */
  readonly resultTypes: Json | undefined;
  /** What it tried beyond its own process, when it was a preview; the session's own word. */
  readonly attempts: Json | undefined;
}

/** A run as the graph continues with it. */
export type FinishedRun = Pick<JobResult, 'startedAt' | 'python' | 'execution' | 'outputs' | 'resultTypes'>;

/** A preview that approval can commit. */
export type PreviewedRun = FinishedRun & { readonly codeSha256: string };

/** Where code runs. */
export interface CodeExecutor extends AsyncDisposable {
  run(job: Job): Promise<JobResult>;
}
