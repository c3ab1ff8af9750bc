import type { Execution, Json } from '../../execution/execution.ts';
import { snakeCase } from './request.ts';

/** A JSON object. */
export type JsonObject = Readonly<Record<string, Json>>;

export function isJsonObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a request returns. */
export interface PythonServiceResult {
  readonly executionResult: PythonExecutionSuccess;
  readonly generatedCode: string;
  /** How many versions of the code it took. */
  readonly generationAttempt: number;
  /** Retries, by cause. */
  readonly retries: { readonly generation: number; readonly execution: number };
  readonly analysisWarnings: readonly string[];
}

/** A run that succeeded with the expected results. */
export interface PythonExecutionSuccess {
  /** The code's variable `results`. */
  readonly results: Readonly<Record<string, Json>>;
  readonly stdout: string;
  readonly stderr: string;
  /** In seconds. */
  readonly executionTime: number;
  readonly folderPath: string;
  readonly notebookPath: string;
  readonly notebookLink: string;
  readonly figurePaths: readonly string[];
  /** Copies of the files that the code wrote. */
  readonly filePaths: readonly string[];
}

/** The result with the keys of the reference implementation. */
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

/** One attempt at a task: the code and its run. */
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

/** The fields of a result in the spelling of the reference's examples. */
interface SnakeCaseResult {
  readonly execution_result: PythonExecutionSuccess & {
    readonly execution_time: number;
    readonly folder_path: string;
    readonly notebook_path: string;
    readonly notebook_link: string;
    readonly figure_paths: readonly string[];
    readonly file_paths: readonly string[];
    /** The result with the keys of the reference implementation. */
    to_dict(): Readonly<Record<string, Json>>;
  };
  readonly generated_code: string;
  readonly generation_attempt: number;
  readonly analysis_warnings: readonly string[];
}

/** A result whose fields can be read in camelCase and in snake_case. */
export type SpelledResult = PythonServiceResult & SnakeCaseResult;

/** Adds the snake_case fields, which are not enumerable: a printed, stored or spread result has each field once. */
export function withBothSpellings(result: PythonServiceResult): SpelledResult {
  const executionResult = Object.defineProperty(withSnakeCase(result.executionResult), 'to_dict', {
    value: () => successOnTheWire(result.executionResult),
  });
  return Object.freeze(
    withSnakeCase({ ...result, executionResult: Object.freeze(executionResult) }),
  ) as unknown as SpelledResult;
}

function withSnakeCase<T extends object>(fields: T): T {
  const again = Object.entries(fields)
    .map(([name, value]): [string, PropertyDescriptor] => [snakeCase(name), { value: value as unknown }])
    .filter(([name]) => !(name in fields));
  return Object.defineProperties({ ...fields }, Object.fromEntries(again));
}
