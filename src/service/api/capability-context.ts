import type { Json } from '../../execution/execution.ts';
import { shortenEnd } from '../../text/excerpt.ts';
import type { JsonObject, PythonServiceResult } from './result.ts';

const LONG_OUTPUT = { over: 1000, to: 500 };
const LONG_CODE = { over: 2000, to: 2000 };
const LONG_TEXT = { over: 200, to: 100 };
const MANY_ITEMS = 10;
const SAMPLE_ITEMS = 3;
const MAX_DEPTH = 5;

/** What a capability stores as `PYTHON_RESULTS` for later steps. */
export function pythonResultsContext({ executionResult, generatedCode }: PythonServiceResult): JsonObject {
  return {
    code: generatedCode,
    output: executionResult.stdout,
    results: executionResult.results,
    error: null, // a failed request has no results to store
    execution_time: executionResult.executionTime,
    folder_path: executionResult.folderPath,
    notebook_path: executionResult.notebookPath,
    notebook_link: executionResult.notebookLink,
    figure_paths: executionResult.figurePaths,
    file_paths: executionResult.filePaths,
  };
}

/** The same, short enough to show to a model. */
export function summarizePythonResults(context: JsonObject): JsonObject {
  const { code, output, results } = context;
  return {
    ...context,
    ...(typeof code === 'string' && { code: shortenOver(code, LONG_CODE) }),
    ...(typeof output === 'string' && { output: shortenOver(output, LONG_OUTPUT) }),
    ...(results !== undefined && { results: sample(results, 0) }),
  };
}

function sample(value: Json, depth: number): Json {
  if (typeof value === 'string') return shortenOver(value, LONG_TEXT);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return '…';
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    const shown = items
      .slice(0, items.length > MANY_ITEMS ? SAMPLE_ITEMS : MANY_ITEMS)
      .map((item) => sample(item, depth + 1));
    return items.length > MANY_ITEMS ? [...shown, `… ${items.length - SAMPLE_ITEMS} more`] : shown;
  }
  const members = Object.entries(value);
  const shown = members
    .slice(0, members.length > MANY_ITEMS ? SAMPLE_ITEMS : MANY_ITEMS)
    .map(([name, item]) => [shortenOver(name, LONG_TEXT), sample(item, depth + 1)] as const);
  return {
    ...Object.fromEntries(shown),
    ...(members.length > MANY_ITEMS && { '…': `${members.length - SAMPLE_ITEMS} more` }),
  };
}

function shortenOver(text: string, { over, to }: { readonly over: number; readonly to: number }): string {
  return text.length > over ? shortenEnd(text, to) : text;
}
