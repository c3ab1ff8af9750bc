import { z } from 'zod';
import { parse } from '../config.ts';
import { VivariumError } from '../errors.ts';
import type { Json } from '../execution/execution.ts';
import type { CallContext } from './tool.ts';

/** Who calls, under one spelling of each name. */
export interface Caller {
  readonly clientId?: string;
  readonly chatId?: string;
  readonly sessionId?: string;
  readonly variables?: Readonly<Record<string, Json>>;
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

/** Programs hold less than this in one variable of the environment; with more, none could be started. */
const MAX_VARIABLES_BYTES = 100_000;

/** Refuses what it does not know: with a misspelt id two clients would share one interpreter. */
export function readContext(context: CallContext = {}): Caller {
  const { variables, ...ids } = parse(Context, context);
  const clientId = oneOf('client_id', ids.clientId, ids.client_id);
  const chatId = oneOf('chat_id', ids.chatId, ids.chat_id);
  const sessionId = oneOf('session_id', ids.sessionId, ids.session_id);
  if (variables !== undefined && Buffer.byteLength(JSON.stringify(variables)) > MAX_VARIABLES_BYTES) {
    throw refusal(`its variables have more than ${MAX_VARIABLES_BYTES} bytes. Hand large data over as a file`);
  }
  return {
    ...(clientId !== null && { clientId }),
    ...(chatId !== null && { chatId }),
    ...(sessionId !== null && { sessionId }),
    ...(variables !== undefined && { variables }),
  };
}

function oneOf(name: string, camel: string | null | undefined, snake: string | null | undefined): string | null {
  if (camel != null && snake != null && camel !== snake) throw refusal(`it has two values for ${name}. Give one`);
  return camel ?? snake ?? null;
}

function refusal(reason: string): VivariumError {
  return new VivariumError('CONFIG_INVALID', `The context of this call does not fit: ${reason}.`);
}
