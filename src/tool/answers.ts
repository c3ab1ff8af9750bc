import { z } from 'zod';
import { VivariumError } from '../errors.ts';
import type { Json } from '../execution/execution.ts';
import type { Observation } from './tool.ts';

/** Arguments as the schema has them, or an observation that tells the model what does not fit. */
export function readArguments<T>(
  schema: z.ZodType<T>,
  args: unknown,
): { readonly value: T } | { readonly refusal: Observation } {
  const parsed = schema.safeParse(args);
  if (parsed.success) return { value: parsed.data };
  const text = `The arguments do not fit: ${z.prettifyError(parsed.error)}\nCall again with arguments that do.`;
  return { refusal: refuse(text, { success: false, error: text }) };
}

export function refuse(text: string, payload: Json): Observation {
  return { text, payload, isError: true };
}

/** Mistakes of a call and full houses are answers to it; whatever else goes wrong is not the caller's to see as data. */
export function isAnswer(error: unknown): error is VivariumError {
  const codes: readonly string[] = ['CONFIG_INVALID', 'SESSION_LIMIT', 'QUEUE_FULL', 'SESSION_BUSY', 'INIT_FAILED'];
  return error instanceof VivariumError && codes.includes(error.code);
}
