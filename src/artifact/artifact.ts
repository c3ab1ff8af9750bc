import type { Readable } from 'node:stream';
import type { ClientOptions } from '../config.ts';

/** A file, figure or table that a run produced. It outlives its session until its retention ends. */
export interface Artifact {
  readonly id: string;
  /** The path in the workspace where it was found. */
  readonly name: string;
  readonly sizeBytes: number;
  readonly mime: string;
  /** SHA-256 of the content, in hexadecimal digits. */
  readonly sha256: string;
  readonly createdAt: Date;
  readonly sessionId: string;
  readonly executionId: string;
  /** The client that owns it: that of its session. Null where the session had none. */
  readonly clientId: string | null;
}

/** The artifacts of a host. To a client, another client's artifact is the same as one that never existed. */
export interface Artifacts {
  /** The content as a stream. What is open stays readable even if the artifact is removed. */
  open(id: string, options?: ClientOptions): Promise<Readable>;
  get(id: string, options?: ClientOptions): Promise<Artifact>;
  /** The artifacts of a session, oldest first. */
  list(options: ClientOptions & { readonly sessionId: string }): Promise<Artifact[]>;
  remove(id: string, options?: ClientOptions): Promise<void>;
}
