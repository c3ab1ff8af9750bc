import type { Execution, Json } from '../../execution/execution.ts';
import type { SavedFigures } from './figures.ts';
import type { SavedFiles } from './files.ts';

/** Why an execution failed, as its record tells it. An `ExecutionFailure` is one. */
export interface FailureReport {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly traceback?: string | null;
  /** Our fault or the machine's, not the code's. */
  readonly isInfrastructure?: boolean;
}

export interface MetadataFacts {
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly execution: Execution | undefined;
  /** Undefined for a success. */
  readonly failure: FailureReport | undefined;
  readonly executionMode: string | null;
  readonly figures: SavedFigures;
  readonly files: SavedFiles;
}

/** The content of `execution_metadata.json`; its keys are those that readers of the reference know. */
export function executionMetadata(facts: MetadataFacts): Readonly<Record<string, Json>> {
  const { startedAt, endedAt, execution, failure, executionMode, figures, files } = facts;
  const hasRun = execution?.outcome.status === 'succeeded';
  const hasResults = execution?.value !== undefined && execution.value !== null;
  return {
    start_time: startedAt.toISOString(),
    end_time: endedAt.toISOString(),
    success: failure === undefined,
    error: failure?.errorMessage ?? null,
    traceback: failure?.traceback ?? execution?.error?.traceback ?? null,
    error_type: failure?.errorType ?? null,
    stdout: execution?.logs.stdout ?? '',
    stderr: execution?.logs.stderr ?? '',
    results_captured: hasResults,
    results_missing: hasRun && execution.value === undefined,
    results_is_none: execution?.value === null,
    results_saved: failure === undefined,
    results_save_error: null, // what cannot be saved is thrown, and there is no such file
    figures_saved: figures.names,
    figure_count: figures.names.length,
    figure_errors: figures.errors,
    files_saved: files.names,
    file_count: files.names.length,
    file_errors: files.errors,
    execution_mode: executionMode,
    infrastructure_error: failure?.isInfrastructure ?? false,
  };
}
