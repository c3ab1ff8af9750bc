import { once } from 'node:events';
import type { ClientRequest } from 'node:http';

/** The source of a body has failed, not the network. */
export class SourceFailure extends Error {}

/**
 * Sends a source as the body of a request, no faster than the server takes it. Stops when the server has answered: it
 * does not want the rest. An error of the source is that of the request.
 */
export async function pour(source: AsyncIterable<Uint8Array>, request: ClientRequest): Promise<void> {
  let isOver = false;
  const over = Promise.race([once(request, 'response'), once(request, 'close')]).then(
    () => (isOver = true),
    () => (isOver = true), // the call that waits for the answer is told the error
  );
  try {
    for await (const chunk of source) {
      if (isOver) return;
      if (!request.write(chunk)) await Promise.race([once(request, 'drain'), over]);
    }
    request.end();
  } catch (error) {
    request.destroy(new SourceFailure('the source of the upload has failed', { cause: error }));
  }
}
