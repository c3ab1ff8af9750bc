import type { Artifact } from '../../artifact/artifact.ts';
import type { Command, ExecResult } from '../../execution/command.ts';
import type { Event } from '../../execution/event.ts';
import type { Execution, Json, Variable } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { Cancellable, ExecOptions, RunOptions, SpawnOptions, TableOptions } from '../../host/options.ts';
import type { NotebookOptions, Session, SessionFiles, SessionInfo } from '../../host/session.ts';
import type { Notebook } from '../../notebook/nbformat.ts';
import { checkRequirements, keepWithin } from './ceiling/ceiling.ts';
import type { Client } from './client.ts';
import type { Usage } from './usage.ts';

/** A session as its client may use it: within its ceiling, and with its runs and commands counted. */
export class ClientSession implements Session {
  readonly #session: Session;
  readonly #client: Client;
  readonly #usage: Usage;

  constructor(session: Session, client: Client, usage: Usage) {
    this.#session = session;
    this.#client = client;
    this.#usage = usage;
  }

  get id(): string {
    return this.#session.id;
  }

  get key(): string {
    return this.#session.key;
  }

  get clientId(): string | null {
    return this.#session.clientId;
  }

  get isolation(): Isolation {
    return this.#session.isolation;
  }

  get files(): SessionFiles {
    return this.#session.files;
  }

  get isClosed(): boolean {
    return this.#session.isClosed;
  }

  async runCode(code: string, options: RunOptions = {}): Promise<Execution> {
    const allowed = keepWithin(options, this.#client.ceiling);
    using _ = this.#usage.beginRun(this.#client);
    return await this.#session.runCode(code, allowed);
  }

  async *stream(code: string, options: RunOptions = {}): AsyncGenerator<Event, void, undefined> {
    const allowed = keepWithin(options, this.#client.ceiling);
    using _ = this.#usage.beginRun(this.#client);
    yield* this.#session.stream(code, allowed);
  }

  /** The time of a command is not limited: what a program leaves behind lives as long as the session, too. */
  async exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult> {
    using _ = this.#usage.beginRun(this.#client);
    return await this.#session.exec(argv, options);
  }

  async spawn(argv: readonly string[], options?: SpawnOptions): Promise<Command> {
    using stack = new DisposableStack();
    stack.use(this.#usage.beginRun(this.#client));
    const command = await this.#session.spawn(argv, options);
    const running = stack.move();
    const end = (): void => running.dispose();
    command.result.then(end, end);
    return command;
  }

  async install(requirements: string | readonly string[], options?: Cancellable): ReturnType<Session['install']> {
    checkRequirements(requirements, this.#client.ceiling);
    return this.#session.install(requirements, options);
  }

  info(): Promise<SessionInfo> {
    return this.#session.info();
  }

  interrupt(): Promise<void> {
    return this.#session.interrupt();
  }

  rollback(options?: Cancellable): ReturnType<Session['rollback']> {
    return this.#session.rollback(options);
  }

  reset(options?: Cancellable): Promise<void> {
    return this.#session.reset(options);
  }

  inspect(options?: Cancellable): Promise<readonly Variable[]> {
    return this.#session.inspect(options);
  }

  complete(code: string, cursor?: number, options?: Cancellable): ReturnType<Session['complete']> {
    return this.#session.complete(code, cursor, options);
  }

  setVariables(variables: Readonly<Record<string, Json>>, options?: Cancellable): Promise<void> {
    return this.#session.setVariables(variables, options);
  }

  setContext(data: Readonly<Record<string, Json>>, options?: Cancellable): Promise<void> {
    return this.#session.setContext(data, options);
  }

  exportTable(name: string, options?: TableOptions): Promise<Artifact> {
    return this.#session.exportTable(name, options);
  }

  exportNotebook(options?: NotebookOptions): Promise<Notebook> {
    return this.#session.exportNotebook(options);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#session.close();
  }
}
