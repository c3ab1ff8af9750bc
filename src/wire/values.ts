/** The values that everything on the wire is made of. */
import { z } from 'zod';
import type { Json } from '../execution/execution.ts';

/**
 * Any JSON. It is passed on as `JSON.parse` made it and never walked: a chart or a value may have many megabytes, and
 * whoever parses a message must not block for them.
 */
export const JsonSchema = z.unknown().meta({
  id: 'Json',
  description: 'Any JSON value. Python values that JSON lacks are objects with a `_type`; see docs/values.md.',
}) as unknown as z.ZodType<Json, Json>;

/** ISO 8601 text on the wire, a `Date` in a program. */
export const TimestampSchema = z.codec(z.iso.datetime({ offset: true }), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});

export const CountSchema = z.int().nonnegative();

export const StreamSchema = z.enum(['stdout', 'stderr']);

export const Sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits');
