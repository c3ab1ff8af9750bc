import type { Readable } from 'node:stream';
import type { Artifact, Artifacts } from '../artifact/artifact.ts';
import { ClientOptions, parse } from '../config.ts';
import { ArtifactSchema } from '../wire/artifact.ts';
import type { Connection } from './http/connection.ts';
import { download } from './http/download.ts';
import { ArtifactsShape } from './shapes.ts';
import { withQuery } from './http/query.ts';

/** The artifacts of a server. */
export class RemoteArtifacts implements Artifacts {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async open(id: string, options: ClientOptions = {}): Promise<Readable> {
    return download(this.#connection, { method: 'GET', path: pathOf(id, options, '/content') });
  }

  async get(id: string, options: ClientOptions = {}): Promise<Artifact> {
    return this.#connection.ask({ method: 'GET', path: pathOf(id, options) }, ArtifactSchema);
  }

  async list({ sessionId, ...options }: ClientOptions & { readonly sessionId: string }): Promise<Artifact[]> {
    const path = withQuery('/v1/artifacts', { sessionId, ...parse(ClientOptions, options) });
    return (await this.#connection.ask({ method: 'GET', path }, ArtifactsShape)).artifacts;
  }

  async remove(id: string, options: ClientOptions = {}): Promise<void> {
    await this.#connection.tell({ method: 'DELETE', path: pathOf(id, options) });
  }
}

function pathOf(id: string, options: ClientOptions, part = ''): string {
  return withQuery(`/v1/artifacts/${encodeURIComponent(id)}${part}`, parse(ClientOptions, options));
}
