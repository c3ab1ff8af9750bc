import type { Execution, Json } from '../../execution/execution.ts';
import type { SavedFigures } from './figures.ts';
import type { SavedFiles } from './files.ts';

/** Why an execution failed, as its record shows it. An `ExecutionFailure` is one. */
export interface FailureReport {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly traceback?: string | null;
  /** The infrastructure failed, not the code. */
  readonly isInfrastructure?: boolean;
}

export interface MetadataFacts {
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly execution: Execution | undefined;
  /** Undefined after a success. */
  readonly failure: FailureReport | undefined;
  readonly executionMode: string | null;
  readonly executionMethod: string | null;
  readonly python: string | null;
  readonly figures: SavedFigures;
  readonly files: SavedFiles;
}

/** The content of `execution_metadata.json`, with the keys of the reference implementation. */
export function executionMetadata(facts: MetadataFacts): Readonly<Record<string, Json>> {
  const { startedAt, endedAt, execution, failure, executionMode, executionMethod, python, figures, files } = facts;
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
    results_save_error: null, // if results cannot be saved, an error is thrown and this file is not written
    figures_saved: figures.names,
    figure_count: figures.names.length,
    figure_errors: figures.errors,
    files_saved: files.names,
    file_count: files.names.length,
    file_errors: files.errors,
    execution_mode: executionMode,
    execution_method: executionMethod,
    python_env: python,
    infrastructure_error: failure?.isInfrastructure ?? false,
  };
}
