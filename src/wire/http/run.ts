/** Runs over HTTP: what is sent to begin one, and what is known of one. */
import { z } from 'zod';
import { ErrorSchema } from '../error.ts';
import { ExecutionSchema } from '../execution.ts';
import { KeyOptionsSchema, OnceOptionsSchema, RunOptionsSchema } from '../options.ts';

const asked = {
  code: z.string().describe('The Python code.'),
  background: z
    .boolean()
    .exactOptional()
    .meta({ description: 'Whether to answer at once and leave it running.', default: false }),
};

export const SessionRunSchema = z
  .strictObject({ ...asked, ...RunOptionsSchema.shape })
  .meta({ id: 'SessionRun', description: 'Code to run in a session.', examples: [{ code: '1 + 1' }] });

export const KeyedRunSchema = z.strictObject({ ...asked, ...RunOptionsSchema.shape, ...KeyOptionsSchema.shape }).meta({
  id: 'KeyedRun',
  description: 'Code to run in the session of a chat or client, which is opened if there is none.',
  examples: [{ code: '1 + 1', chatId: 'chat-1' }],
});

export const OnceRunSchema = z.strictObject({ ...asked, ...OnceOptionsSchema.shape }).meta({
  id: 'OnceRun',
  description: 'Code to run in a session of its own, which is gone afterwards.',
  examples: [{ code: '1 + 1' }],
});

export const RunViewSchema = z
  .object({
    id: z.string().describe('The id of the run, which is that of its execution.'),
    sessionId: z.string().nullable().describe('The session that it runs in; null while that is not known.'),
    status: z.enum(['running', 'ended']).describe('Whether it has ended. A run that waits for its turn is running.'),
    execution: ExecutionSchema.exactOptional().describe('What it produced, once it has ended.'),
    error: ErrorSchema.exactOptional().describe('Why there is no execution, if it could not be run.'),
  })
  .meta({ id: 'RunView', description: 'A run, whether it goes on or has ended.' });
