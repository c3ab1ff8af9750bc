/**
 * The values that everything on the wire is made of.
 *
 * Answers are read with `z.object`, which drops keys that it does not know: a newer server may add some, and a program
 * then still gets exactly what its types say. A proxy passes on the text, not what was parsed.
 * Options and decisions are read with `z.strictObject`, where an unknown key is an error.
 */
import { z } from 'zod';
import type { Json } from '../execution/execution.ts';

/** Any JSON. It is returned as it is and never walked: a chart may have many megabytes, which would block the process. */
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
