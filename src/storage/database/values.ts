/** What may be stored: bounded, and the same on both databases. */
import { z } from 'zod';
import { VivariumError } from '../../errors.ts';

/** Anything that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** PostgreSQL has no NUL in its texts, and half a character has no bytes of its own to be hashed. */
export function text(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .refine(
      (value) => value.isWellFormed() && !value.includes('\0'),
      'must be text without NUL or halves of characters',
    );
}

/** A name, an id: short, and not nothing. */
export const Name = text(512).min(1);

/** Checks what a caller wants to store. */
export function checkRecord<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw invalid(z.prettifyError(parsed.error), parsed.error);
}

/** JSON escapes what a text column could not hold, so anything goes but too much. */
export function toJsonText(
  value: Json,
  { what, maxBytes }: { readonly what: string; readonly maxBytes: number },
): string {
  const encoded = encode(value, what);
  const bytes = Buffer.byteLength(encoded);
  if (bytes <= maxBytes) return encoded;
  throw invalid(
    `${what} has ${bytes} bytes as JSON; ${maxBytes} may be stored. Keep large data in files and store their ids`,
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
