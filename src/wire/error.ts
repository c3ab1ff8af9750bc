/** Errors, as every door reports them. */
import { z } from 'zod';
import { ERROR_CODES, VivariumError, type ErrorCode } from '../errors.ts';

const CODES = Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]];

export const ErrorSchema = z
  .object({
    code: z.enum(CODES).describe('What kind of error it is. Match on this and not on the message.'),
    message: z.string().describe('What happened, why, and what to do about it.'),
    hint: z.string().describe('What to try next.'),
  })
  .meta({
    id: 'Error',
    description: 'A mistake of the caller or a failure of Vivarium. What a program does is never an error.',
    examples: [
      {
        code: 'SESSION_NOT_FOUND',
        message: 'There is no session "a".',
        hint: ERROR_CODES.SESSION_NOT_FOUND.hint,
      },
    ],
  });
export type WireError = Readonly<z.infer<typeof ErrorSchema>>;

export function toWireError({ code, message }: VivariumError): WireError {
  return { code, message, hint: ERROR_CODES[code].hint };
}

/** A newer server may have codes that this version lacks, so the code is read as text. */
const Answer = z.object({ code: z.string(), message: z.string() });

/** The error that another host reported, to be thrown here. */
export function fromWireError(json: unknown): VivariumError {
  const { code, message } = Answer.parse(json);
  const known = CODES.find((one) => one === code);
  return known === undefined
    ? new VivariumError('ENGINE_FAILED', `${message} (${code})`)
    : new VivariumError(known, message);
}
