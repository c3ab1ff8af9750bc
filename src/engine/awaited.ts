import type { Command, CommandOutput } from '../execution/command.ts';
import type { Event, Listener, Summary } from '../execution/event.ts';
import { streamEvents } from '../execution/event-stream.ts';
import type { Variable } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { StateEvent } from '../execution/state.ts';
import { keepAlive, Task } from '../process-life.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Requirement } from '../requirement/requirement.ts';
import type {
  CommandRequest,
  Completion,
  Engine,
  EngineSession,
  PackageInstallation,
  OpenOptions,
  Rollback,
  RunRequest,
  TableRequest,
} from './engine.ts';

/** An engine that keeps the process alive while it is asked for something, and only then. */
export class AwaitedEngine implements Engine {
  readonly #inner: Engine;

  constructor(inner: Engine) {
    this.#inner = inner;
  }

  get isolation(): Isolation {
    return this.#inner.isolation;
  }

  get warmSessions(): number {
    return this.#inner.warmSessions ?? 0;
  }

  async open(options: OpenOptions): Promise<EngineSession> {
    return new AwaitedSession(await keepAlive(this.#inner.open(options)));
  }

  close(): Promise<void> {
    return keepAlive(this.#inner.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

class AwaitedSession implements EngineSession {
  readonly id: string;
  readonly workspace: Workspace;
  readonly #inner: EngineSession;

  constructor(inner: EngineSession) {
    this.id = inner.id;
    this.workspace = inner.workspace;
    this.#inner = inner;
  }

  get isolation(): Isolation {
    return this.#inner.isolation;
  }

  revive(): Promise<boolean> {
    return keepAlive(this.#inner.revive());
  }

  /** A listener that never goes on, because nobody reads its stream any more, does not keep the process alive. */
  async run(request: RunRequest, listener: Listener): Promise<Summary> {
    using task = new Task();
    return await this.#inner.run(request, (event) => {
      const listening = listener(event);
      return listening === undefined ? undefined : task.leaveToOthers(listening);
    });
  }

  stream(request: RunRequest): AsyncGenerator<Event, void, undefined> {
    return streamEvents((listener) => this.run(request, listener));
  }

  interrupt(): Promise<void> {
    return keepAlive(this.#inner.interrupt());
  }

  rollback(): Promise<Rollback> {
    return keepAlive(this.#inner.rollback());
  }

  reset(options?: { readonly keepsNotices?: boolean }): Promise<void> {
    return keepAlive(this.#inner.reset(options));
  }

  note(event: StateEvent): void {
    this.#inner.note(event);
  }

  inspect(): Promise<readonly Variable[]> {
    return keepAlive(this.#inner.inspect());
  }

  complete(code: string, cursor: number): Promise<Completion> {
    return keepAlive(this.#inner.complete(code, cursor));
  }

  writeTable(request: TableRequest): Promise<void> {
    return keepAlive(this.#inner.writeTable(request));
  }

  /** The process stays alive as long as the command runs, but not for a listener that never goes on. */
  async start({ onOutput, ...request }: CommandRequest): Promise<Command> {
    const task = new Task();
    const listener =
      onOutput &&
      ((output: CommandOutput) => {
        const listening = onOutput(output);
        return listening === undefined ? undefined : task.leaveToOthers(listening);
      });
    try {
      const command = await this.#inner.start({ ...request, onOutput: listener });
      const end = (): void => task[Symbol.dispose]();
      command.result.then(end, end);
      return command;
    } catch (error) {
      task[Symbol.dispose]();
      throw error;
    }
  }

  install(
    requirements: readonly Requirement[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<PackageInstallation> {
    return keepAlive(this.#inner.install(requirements, options));
  }

  close(): Promise<void> {
    return keepAlive(this.#inner.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
