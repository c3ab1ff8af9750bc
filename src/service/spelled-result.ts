import type { Json } from '../execution/execution.ts';
import { successOnTheWire, type PythonExecutionSuccess, type PythonServiceResult } from './result.ts';

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
