import type { FileSource } from '../../workspace/workspace.ts';

/** A request to the server. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Encoded, from `/v1` on. */
  readonly path: string;
  /** A body in JSON, as text. */
  readonly json?: string;
  /** A body of bytes. */
  readonly content?: FileSource;
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborting it closes the connection, which the server notices. */
  readonly signal?: AbortSignal | undefined;
  /** Whether it does no harm to ask again when no answer came. Only `GET` by default. */
  readonly isRepeatable?: boolean;
}

/** The other side of a call. */
export interface Peer {
  /** Its address, for messages. */
  readonly url: string;
  /** What the caller is told about an error of the network. */
  lost(error: unknown, call: Call, wasSent: boolean): Error;
}
