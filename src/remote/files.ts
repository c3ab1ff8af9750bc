import type { Readable } from 'node:stream';
import type { Cancellable } from '../host/options.ts';
import type { FileFacts, FileList, SessionFiles } from '../host/session.ts';
import { FileFactsSchema, FileListSchema } from '../wire/artifact.ts';
import { closing } from '../workspace/file-source.ts';
import { parsePath } from '../workspace/names.ts';
import type { FileSource } from '../workspace/workspace.ts';
import type { Call } from './http/call.ts';
import type { Connection } from './http/connection.ts';
import { download } from './http/download.ts';

/** Has something asked of a session, and notices if the session has ended. */
type InSession = <T>(ask: () => Promise<T>) => Promise<T>;

/** The files of a session on a server. */
export class RemoteFiles implements SessionFiles {
  readonly location: string;
  readonly #connection: Connection;
  readonly #path: string;
  readonly #inSession: InSession;

  /** `path` is that of the session. */
  constructor(connection: Connection, { path, location }: { path: string; location: string }, inSession: InSession) {
    this.location = location;
    this.#connection = connection;
    this.#path = `${path}/files`;
    this.#inSession = inSession;
  }

  async upload(path: string, source: FileSource, { signal }: Cancellable = {}): Promise<FileFacts> {
    using _ = closing(source);
    const call: Call = { method: 'PUT', path: this.#pathOf(path), content: source, signal };
    return await this.#inSession(() => this.#connection.ask(call, FileFactsSchema));
  }

  async download(path: string, { signal }: Cancellable = {}): Promise<Readable> {
    const call: Call = { method: 'GET', path: this.#pathOf(path), signal };
    return this.#inSession(() => download(this.#connection, call));
  }

  async list({ signal }: Cancellable = {}): Promise<FileList> {
    return this.#inSession(() => this.#connection.ask({ method: 'GET', path: this.#path, signal }, FileListSchema));
  }

  async remove(path: string): Promise<void> {
    const call: Call = { method: 'DELETE', path: this.#pathOf(path) };
    await this.#inSession(() => this.#connection.tell(call));
  }

  /** Checked here already: an address with `..` in it would lead somewhere else. */
  #pathOf(path: string): string {
    const { parents, name } = parsePath(path);
    return [this.#path, ...[...parents, name].map(encodeURIComponent)].join('/');
  }
}
