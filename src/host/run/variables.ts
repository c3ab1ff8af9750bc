import { readPayload } from '../../engine/python-files.ts';
import { VivariumError } from '../../errors.ts';
import type { Json } from '../../execution/execution.ts';

const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

/** Python that sets variables to JSON values. A JSON string is a Python string literal too, so nothing needs quoting by hand. */
export function assignments(variables: Readonly<Record<string, Json>>): string {
  return Object.entries(variables)
    .map(([name, value]) => {
      if (!NAME.test(name)) {
        throw new VivariumError(
          'CONFIG_INVALID',
          `"${name}" is not the name of a variable. Use letters, digits and "_".`,
        );
      }
      return `${name} = __import__("json").loads(${JSON.stringify(JSON.stringify(value))})`;
    })
    .join('\n');
}

/**
 * Python that sets `context` to data that code reads by dots: `context.TYPE.key.field`. It brings its own class along, so
 * that it runs as well in a notebook elsewhere.
 */
export async function contextAssignment(data: Readonly<Record<string, Json>>): Promise<string> {
  const source = await readPayload('context');
  return [
    '_context = __import__("types").ModuleType("context")',
    `exec(${JSON.stringify(source)}, _context.__dict__)`,
    `context = _context.Context(__import__("json").loads(${JSON.stringify(JSON.stringify(data))}))`,
    'del _context',
  ].join('\n');
}
