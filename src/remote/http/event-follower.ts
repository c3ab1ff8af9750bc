import type { IncomingMessage } from 'node:http';
import { VivariumError } from '../../errors.ts';
import { jsonOf, readError, strange } from './answer.ts';
import { Reconnection } from './reconnection.ts';
import type { Call } from './call.ts';
import type { Connection } from './connection.ts';
import { readFrames, type SentEvent } from './sse.ts';

const EVENT_STREAM = { accept: 'text/event-stream' } as const;

/** A stream of numbered events that a server keeps for a while. */
export interface EventSource<T> {
  /** What it is about, as the object of a sentence. */
  readonly what: string;
  /** The request that begins it, unless it has begun. It is sent again if no answer came, so that must do no harm. */
  readonly first?: Call;
  /** The path where it is found again. */
  readonly path: string;
  /** Undefined for an event that only newer servers know. Throws if it is malformed. */
  readonly read: (json: unknown) => T | undefined;
  /** The name of the last event, unless that is `error`. */
  readonly last: string;
}

/**
 * The events of a server, in order and each once, over as many connections as it takes. The consumer sets the pace.
 * Breaking out of the loop closes the connection and does nothing else.
 */
export async function* followEvents<T>(
  connection: Connection,
  source: EventSource<T>,
): AsyncGenerator<T, void, undefined> {
  const { path, read, first = { method: 'GET', path } } = source;
  for await (const { event, data } of followFrames(connection, source)) {
    const json = jsonOf(data);
    if (event === 'error') throw readError(json) ?? strange(first, connection, 'an error that is none of ours');
    const value = understand(read, json, first, connection);
    if (value !== undefined) yield value;
  }
}

async function* followFrames<T>(
  connection: Connection,
  { what, first, path, last }: EventSource<T>,
): AsyncGenerator<SentEvent, void, undefined> {
  const reconnection = new Reconnection(what, first === undefined);
  const isLast = ({ event }: SentEvent): boolean => event === last || event === 'error';
  let call: Call = { method: 'GET', path, ...first, headers: { ...first?.headers, ...EVENT_STREAM } };
  for (let seen = 0; ;) {
    try {
      const response = await connection.exchange(call);
      response.socket.unref(); // a stream that nobody reads does not keep the process alive
      if (!isEventStream(response)) {
        response.destroy();
        throw strange(call, connection, 'it is no stream of events');
      }
      reconnection.onAnswer();
      call = { method: 'GET', path, headers: EVENT_STREAM }; // until now, it may not have begun
      for await (const frame of readFrames(response, isLast)) {
        const { id } = frame;
        if (id === undefined) throw strange(call, connection, 'an event has no number');
        if (id <= seen) continue; // told already
        if (id > seen + 1) throw gap(what, id - seen - 1);
        seen = id;
        reconnection.onProgress();
        yield frame;
        if (isLast(frame)) return;
      }
      throw new Error('the stream ended before its last event');
    } catch (error) {
      await reconnection.onFailure(connection.lost(error, call, true));
    }
    if (seen > 0) call = { method: 'GET', path, headers: { ...EVENT_STREAM, 'last-event-id': String(seen) } };
  }
}

function isEventStream({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.startsWith('text/event-stream') === true;
}

function understand<T>(read: EventSource<T>['read'], json: unknown, call: Call, connection: Connection): T | undefined {
  try {
    return read(json);
  } catch (error) {
    throw strange(call, connection, 'an event is malformed', error);
  }
}

function gap(what: string, missing: number): VivariumError {
  return new VivariumError(
    'OUTCOME_UNKNOWN',
    `The connection was lost for so long that the server has dropped ${missing} events of ${what}.`,
  );
}
