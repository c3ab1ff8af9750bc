/** Checks on what may be stored, so that sizes are bounded and both databases accept the same values. */
import { z } from 'zod';
import { VivariumError } from '../../errors.ts';
import type { Json } from '../../execution/execution.ts';

/** PostgreSQL cannot store NUL in text, and a lone surrogate cannot be encoded and hashed. */
export function text(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be text without NUL or lone surrogates');
}

/** A name or an id: short, and not empty. */
export const Name = text(512).min(1);

/** Validates what a caller wants to store. */
export function checkRecord<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw invalid(z.prettifyError(parsed.error), parsed.error);
}

/** JSON escapes whatever a text column cannot hold, so only the size is limited. */
export function toJsonText(
  value: Json,
  { what, maxBytes }: { readonly what: string; readonly maxBytes: number },
): string {
  const encoded = encode(value, what);
  const bytes = Buffer.byteLength(encoded);
  if (bytes <= maxBytes) return encoded;
  throw invalid(
    `${what} is ${bytes} bytes as JSON, and at most ${maxBytes} can be stored. Keep large data in files and store their ids`,
  );
}

function encode(value: Json, what: string): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    throw invalid(`${what} cannot be written as JSON (${error instanceof Error ? error.message : 'unknown'})`, error);
  }
}

function invalid(message: string, cause?: unknown): VivariumError {
  return new VivariumError('RECORD_INVALID', `${message}. Nothing was stored; correct it and try again.`, { cause });
}
