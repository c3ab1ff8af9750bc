import { readPayload } from '../../../engine/python-files.ts';
import type { Json } from '../../../execution/execution.ts';
import { assign, pythonValue, runSource } from '../../../text/code/python-code.ts';

/** Python that sets variables to JSON values. */
export function assignments(variables: Readonly<Record<string, Json>>): string {
  return Object.entries(variables)
    .map(([name, value]) => assign(name, pythonValue(value)))
    .join('\n');
}

/**
 * Python that sets `context` to data that code reads by dots: `context.TYPE.key.field`. It brings its own class along, so
 * that it also runs in a notebook elsewhere.
 */
export async function contextAssignment(data: Readonly<Record<string, Json>>): Promise<string> {
  const source = await readPayload('context');
  return assign('context', runSource({ source, name: 'context', result: `names["Context"](${pythonValue(data)})` }));
}
