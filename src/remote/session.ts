import type { z } from 'zod';
import type { Artifact } from '../artifact/artifact.ts';
import { VivariumError } from '../errors.ts';
import type { Command, ExecResult } from '../execution/command.ts';
import type { Event } from '../execution/event.ts';
import type { Execution, Json, Variable } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import { CLOSED, sessionClosed } from '../host/local/endings.ts';
import {
  parseCommand,
  parseRun,
  parseStreamedRun,
  type Cancellable,
  type ExecOptions,
  type ParsedRun,
  type RunOptions,
  type SpawnOptions,
  type StreamedRunOptions,
  type TableOptions,
} from '../host/options.ts';
import type { NotebookOptions, Session, SessionInfo } from '../host/session.ts';
import type { Notebook } from '../notebook/nbformat.ts';
import { ArtifactSchema } from '../wire/artifact.ts';
import { PackageInstallationSchema, SessionViewSchema, VariableListSchema } from '../wire/http/session.ts';
import { CompletionSchema, RollbackSchema } from '../wire/session.ts';
import { RemoteCommands } from './commands.ts';
import { RemoteFiles } from './files.ts';
import type { Call } from './http/call.ts';
import type { Connection } from './http/connection.ts';
import { encodeBody } from './http/encode-body.ts';
import { withQuery } from './http/query.ts';
import { RemoteRun } from './run.ts';
import { NotebookShape } from './shapes.ts';
import type { UnderWay } from './under-way.ts';

type Answered<M extends 'complete' | 'install' | 'rollback'> = Awaited<ReturnType<Session[M]>>;

/** A session as a server describes it. */
export type SessionFacts = Readonly<z.infer<typeof SessionViewSchema>>;

/** A session on a server. */
export class RemoteSession implements Session {
  readonly id: string;
  readonly key: string;
  readonly clientId: string | null;
  readonly isolation: Isolation;
  readonly files: RemoteFiles;
  readonly #connection: Connection;
  readonly #underWay: UnderWay;
  readonly #commands: RemoteCommands;
  readonly #path: string;
  /** As the last receipt says. */
  #generation = 1;
  /** What later calls get once it is known to have ended. */
  #ended: VivariumError | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    connection: Connection,
    underWay: UnderWay,
    { id, key, clientId, isolation, filesLocation }: SessionFacts,
  ) {
    this.id = id;
    this.key = key;
    this.clientId = clientId;
    this.isolation = isolation;
    this.#connection = connection;
    this.#underWay = underWay;
    this.#path = `/v1/sessions/${encodeURIComponent(id)}`;
    const path = this.#path;
    this.files = new RemoteFiles(connection, { path, location: filesLocation }, (ask) => this.#inSession(ask));
    this.#commands = new RemoteCommands(connection, underWay, path);
  }

  get isClosed(): boolean {
    return this.#ended !== undefined;
  }

  async info(): Promise<SessionInfo> {
    const {
      isolation: _,
      filesLocation: __,
      ...info
    } = await this.#ask({ method: 'GET', path: this.#path }, SessionViewSchema);
    return info;
  }

  async runCode(code: string, options: RunOptions = {}): Promise<Execution> {
    const execution = await this.#inSession(() => this.#run(parseRun(code, options)).execution());
    this.#generation = execution.state.generation;
    return execution;
  }

  async *stream(code: string, options: StreamedRunOptions = {}): AsyncGenerator<Event, void, undefined> {
    this.#assertOpen();
    try {
      for await (const event of this.#run(parseStreamedRun(code, options)).events()) {
        if (event.type === 'done') this.#generation = event.summary.state.generation;
        yield event;
      }
    } catch (error) {
      throw this.#examine(error);
    }
  }

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    return this.#inSession(() => this.#commands.exec(parseCommand(argv, options)));
  }

  async spawn(argv: readonly string[], options: SpawnOptions = {}): Promise<Command> {
    return this.#inSession(() => this.#commands.spawn(parseCommand(argv, options)));
  }

  async interrupt(): Promise<void> {
    await this.#tell({ method: 'POST', path: `${this.#path}/interrupt`, isRepeatable: true });
  }

  async rollback({ signal }: Cancellable = {}): Promise<Answered<'rollback'>> {
    const rollback = await this.#ask({ method: 'POST', path: `${this.#path}/rollback`, signal }, RollbackSchema);
    this.#generation = rollback.generation;
    return rollback;
  }

  async reset({ signal }: Cancellable = {}): Promise<void> {
    await this.#tell({ method: 'POST', path: `${this.#path}/reset`, signal });
    this.#generation += 1;
  }

  async inspect({ signal }: Cancellable = {}): Promise<readonly Variable[]> {
    return (await this.#ask({ method: 'GET', path: `${this.#path}/variables`, signal }, VariableListSchema)).variables;
  }

  async complete(code: string, cursor = code.length, { signal }: Cancellable = {}): Promise<Answered<'complete'>> {
    const json = encodeBody({ code, cursor });
    const path = `${this.#path}/completions`;
    return this.#ask({ method: 'POST', path, json, signal, isRepeatable: true }, CompletionSchema);
  }

  async setVariables(variables: Readonly<Record<string, Json>>, { signal }: Cancellable = {}): Promise<void> {
    await this.#tell({ method: 'PUT', path: `${this.#path}/variables`, json: encodeBody(variables), signal });
  }

  async setContext(data: Readonly<Record<string, Json>>, { signal }: Cancellable = {}): Promise<void> {
    await this.#tell({ method: 'PUT', path: `${this.#path}/context`, json: encodeBody(data), signal });
  }

  async exportTable(name: string, { signal, ...options }: TableOptions = {}): Promise<Artifact> {
    const json = encodeBody({ ...options, name });
    return this.#ask({ method: 'POST', path: `${this.#path}/tables`, json, signal }, ArtifactSchema);
  }

  async install(requirements: string | readonly string[], { signal }: Cancellable = {}): Promise<Answered<'install'>> {
    const json = encodeBody({ requirements });
    return this.#ask({ method: 'POST', path: `${this.#path}/packages`, json, signal }, PackageInstallationSchema);
  }

  async exportNotebook(options: NotebookOptions = {}): Promise<Notebook> {
    return this.#ask({ method: 'GET', path: withQuery(`${this.#path}/notebook`, { ...options }) }, NotebookShape);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One that has ended by itself is closed, too. */
  async #close(): Promise<void> {
    this.#ended ??= sessionClosed(this.id, CLOSED);
    try {
      await this.#connection.tell({ method: 'DELETE', path: this.#path, isRepeatable: true });
    } catch (error) {
      if (!isEnd(error)) throw error;
    }
  }

  #run(run: ParsedRun): RemoteRun {
    const { id, isolation } = this;
    const session = { id, isolation, generation: this.#generation };
    const parts = { connection: this.#connection, underWay: this.#underWay, path: `${this.#path}/runs`, session };
    return new RemoteRun(parts, run);
  }

  #ask<T>(call: Call, schema: z.ZodType<T>): Promise<T> {
    return this.#inSession(() => this.#connection.ask(call, schema));
  }

  #tell(call: Call): Promise<void> {
    return this.#inSession(() => this.#connection.tell(call));
  }

  async #inSession<T>(ask: () => Promise<T>): Promise<T> {
    this.#assertOpen();
    try {
      return await ask();
    } catch (error) {
      throw this.#examine(error);
    }
  }

  #assertOpen(): void {
    if (this.#connection.isClosed) throw this.#connection.closed();
    if (this.#ended !== undefined) throw this.#ended;
  }

  #examine(error: unknown): unknown {
    if (isEnd(error)) this.#ended ??= error;
    return error;
  }
}

/** Whether a server says that there is no such session, or none any more. */
function isEnd(error: unknown): error is VivariumError {
  return error instanceof VivariumError && (error.code === 'SESSION_CLOSED' || error.code === 'SESSION_NOT_FOUND');
}
