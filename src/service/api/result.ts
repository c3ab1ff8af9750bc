import type { Execution, Json } from '../../execution/execution.ts';

/** What the service gives in the end. */
export interface PythonServiceResult {
  readonly executionResult: PythonExecutionSuccess;
  readonly generatedCode: string;
  /** How many codes it took. */
  readonly generationAttempt: number;
  /** Tries again, by what they were for. */
  readonly retries: { readonly generation: number; readonly execution: number };
  readonly analysisWarnings: readonly string[];
}

/** A run that succeeded and gave what was expected. */
export interface PythonExecutionSuccess {
  /** From the code's variable `results`. */
  readonly results: Readonly<Record<string, Json>>;
  readonly stdout: string;
  readonly stderr: string;
  /** In seconds. */
  readonly executionTime: number;
  readonly folderPath: string;
  readonly notebookPath: string;
  readonly notebookLink: string;
  readonly figurePaths: readonly string[];
  /** Copies of what the code wrote. */
  readonly filePaths: readonly string[];
}

/** The keys that callers of the reference read. */
export function successOnTheWire(success: PythonExecutionSuccess): Readonly<Record<string, Json>> {
  return {
    results: success.results,
    execution_stdout: success.stdout,
    execution_time_seconds: success.executionTime,
    execution_folder: success.folderPath,
    notebook_path: success.notebookPath,
    notebook_link: success.notebookLink,
    figure_paths: success.figurePaths,
    figure_count: success.figurePaths.length,
    file_paths: success.filePaths,
  };
}

/** One try at a task: code, and what came of it. */
export interface Attempt {
  readonly number: number;
  readonly stage: AttemptStage;
  readonly code: string;
  readonly error?: string;
  readonly execution?: Execution;
}

export type AttemptStage =
  | 'syntax_error'
  | 'static_analysis_failed'
  | 'awaiting_approval'
  | 'execution_failed'
  | 'results_invalid'
  | 'succeeded';

/** The fields of a result as examples of the reference read them. */
interface SnakeCase {
  readonly execution_result: PythonExecutionSuccess & {
    readonly execution_time: number;
    readonly folder_path: string;
    readonly notebook_path: string;
    readonly notebook_link: string;
    readonly figure_paths: readonly string[];
    readonly file_paths: readonly string[];
    /** With the keys that callers of the reference read. */
    to_dict(): Readonly<Record<string, Json>>;
  };
  readonly generated_code: string;
  readonly generation_attempt: number;
  readonly analysis_warnings: readonly string[];
}

/** A result whose fields can be read by either spelling. */
export type SpelledResult = PythonServiceResult & SnakeCase;

/** Frozen. The second spelling does not show: what is printed, stored or spread has each field once. */
export function spelled(result: PythonServiceResult): SpelledResult {
  const executionResult = Object.defineProperty(withSnakeCase(result.executionResult), 'to_dict', {
    value: () => successOnTheWire(result.executionResult),
  });
  return Object.freeze(
    withSnakeCase({ ...result, executionResult: Object.freeze(executionResult) }),
  ) as unknown as SpelledResult;
}

function withSnakeCase<T extends object>(fields: T): T {
  const again = Object.entries(fields)
    .map(([name, value]): [string, PropertyDescriptor] => [snake(name), { value: value as unknown }])
    .filter(([name]) => !(name in fields));
  return Object.defineProperties({ ...fields }, Object.fromEntries(again));
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
