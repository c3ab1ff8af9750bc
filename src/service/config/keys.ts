import { z } from 'zod';

/** A key of the configuration, as a person looks for it. */
export interface Key {
  /** The full name, such as `approval.global_mode`. */
  readonly name: string;
  /** Undefined when there is none. */
  readonly defaultValue: unknown;
  readonly description: string;
}

/** Every key below a schema that holds a value of its own, in order. */
export function keysOf(schema: z.ZodType, prefix = ''): Key[] {
  const { inner, defaultValue } = unwrap(schema);
  if (!(inner instanceof z.ZodObject)) return [{ name: prefix, defaultValue, description: schema.description ?? '' }];
  return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, child]) =>
    keysOf(child, prefix === '' ? name : `${prefix}.${name}`),
  );
}

/** Every name that may stand in front of a value or a section: `approval`, `approval.global_mode`… */
export function namesIn(keys: readonly Key[]): string[] {
  const names = keys.flatMap(({ name }) => name.split('.').map((_, end, parts) => parts.slice(0, end + 1).join('.')));
  return [...new Set(names)];
}

function unwrap(schema: z.ZodType): { inner: z.ZodType; defaultValue: unknown } {
  let inner: z.ZodType = schema;
  let defaultValue: unknown;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault || inner instanceof z.ZodOptional) {
    if (inner instanceof z.ZodDefault) ({ defaultValue } = inner.def);
    inner = inner.unwrap() as z.ZodType;
  }
  return { inner, defaultValue };
}
