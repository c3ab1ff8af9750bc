/** What every tool does with a call: reads its arguments and context, and turns refusals into observations. */
import { z } from 'zod';
import { parse } from '../config.ts';
import { VivariumError } from '../errors.ts';
import type { Json } from '../execution/execution.ts';
import type { CallContext, Observation } from './tool.ts';

/** The context of a call, with one spelling of each name. */
export interface CallerIdentity {
  readonly clientId?: string;
  readonly chatId?: string;
  readonly sessionId?: string;
  readonly variables?: Readonly<Record<string, Json>>;
}

/** Returns arguments that match the schema, or an observation that tells the model what is wrong with them. */
export function readArguments<T>(
  schema: z.ZodType<T>,
  args: unknown,
): { readonly value: T } | { readonly refusal: Observation } {
  const parsed = schema.safeParse(args);
  if (parsed.success) return { value: parsed.data };
  const text = `The arguments are invalid: ${z.prettifyError(parsed.error)}\nCorrect them and call again.`;
  return { refusal: refuse(text, { success: false, error: text }) };
}

export function refuse(text: string, payload: Json): Observation {
  return { text, payload, isError: true };
}

/**
 * Whether an error belongs in the observation: the caller made a mistake or a limit is reached. All other errors are
 * thrown.
 */
export function isRefusal(error: unknown): error is VivariumError {
  const codes: readonly string[] = ['CONFIG_INVALID', 'SESSION_LIMIT', 'QUEUE_FULL', 'SESSION_BUSY', 'INIT_FAILED'];
  return error instanceof VivariumError && codes.includes(error.code);
}

const Id = z.string().min(1).max(500).nullish();
const Context = z.strictObject({
  clientId: Id,
  client_id: Id,
  chatId: Id,
  chat_id: Id,
  sessionId: Id,
  session_id: Id,
  variables: z.record(z.string(), z.json()).optional(),
});

/** Linux refuses to start a program with a larger environment variable. */
const MAX_VARIABLES_BYTES = 100_000;

/** Refuses unknown names: with a misspelt id, two clients would share one interpreter. */
export function readContext(context: CallContext = {}): CallerIdentity {
  const { variables, ...ids } = parse(Context, context);
  const clientId = oneOf('client_id', ids.clientId, ids.client_id);
  const chatId = oneOf('chat_id', ids.chatId, ids.chat_id);
  const sessionId = oneOf('session_id', ids.sessionId, ids.session_id);
  if (variables !== undefined && Buffer.byteLength(JSON.stringify(variables)) > MAX_VARIABLES_BYTES) {
    throw invalidContext(`its variables have more than ${MAX_VARIABLES_BYTES} bytes. Pass large data as a file`);
  }
  return {
    ...(clientId !== null && { clientId }),
    ...(chatId !== null && { chatId }),
    ...(sessionId !== null && { sessionId }),
    ...(variables !== undefined && { variables }),
  };
}

function oneOf(name: string, camel: string | null | undefined, snake: string | null | undefined): string | null {
  if (camel != null && snake != null && camel !== snake) {
    throw invalidContext(`it has two values for ${name}. Give one`);
  }
  return camel ?? snake ?? null;
}

function invalidContext(reason: string): VivariumError {
  return new VivariumError('CONFIG_INVALID', `The context of this call is invalid: ${reason}.`);
}
