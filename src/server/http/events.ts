import { VivariumError } from '../../errors.ts';
import type { Exchange } from './exchange.ts';

/** Whether a request asks for a stream of events instead of one answer. */
export function wantsEvents({ env: { incoming } }: Exchange): boolean {
  return incoming.headers.accept?.includes('text/event-stream') === true;
}

/** The number of the last event that the client has, which it gives when it comes back. */
export function lastEventId({ env: { incoming } }: Exchange): number {
  const id = incoming.headers['last-event-id'];
  if (id === undefined) return 0;
  if (typeof id === 'string' && /^\d{1,15}$/.test(id)) return Number(id);
  throw new VivariumError('REQUEST_INVALID', 'Last-Event-ID must be the number of an event, such as 3.');
}
