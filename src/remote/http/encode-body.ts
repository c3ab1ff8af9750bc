import { VivariumError } from '../../errors.ts';

/** The body of a request. What JSON cannot say is an error of the caller. */
export function encodeBody(body: object): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new VivariumError('CONFIG_INVALID', `This cannot be sent to a server as JSON: ${why}.`, { cause: error });
  }
}
