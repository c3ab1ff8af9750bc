import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import type { Command, CommandOutput } from '../../execution/command.ts';
import type { SpawnOptions } from '../../host/options.ts';
import type { Session } from '../../host/session.ts';
import type { Client } from '../access/client.ts';
import { describeError } from '../http/errors.ts';
import { Attendance } from './attendance.ts';
import { EventLog } from './event-log.ts';
import { Shelf } from './shelf.ts';

/** A command to be started. */
export interface CommandPlan {
  readonly session: Session;
  readonly argv: readonly string[];
  readonly options: Omit<SpawnOptions, 'onOutput' | 'signal'>;
  /** All that it reads. Undefined: it may be written to later. */
  readonly input: string | undefined;
  /** It goes on whether anybody waits for it or not. */
  readonly isBackground: boolean;
}

interface ServerCommandParts {
  readonly owner: string | null;
  /** How long it goes on while nobody waits for it; null for ever. */
  readonly patienceMs: number | null;
  readonly cancelled: AbortController;
}

/** A command that this server runs, or has run a short time ago. */
export class ServerCommand {
  readonly id: string = randomUUID();
  readonly owner: string | null;
  readonly command: Command;
  readonly log: EventLog;
  /** How it ended, as it is answered. Never rejects. */
  readonly ended: Promise<{ readonly status: number; readonly body: string }>;
  readonly #attendance: Attendance;
  readonly #cancelled: AbortController;

  constructor(command: Command, log: EventLog, { owner, patienceMs, cancelled }: ServerCommandParts) {
    this.owner = owner;
    this.command = command;
    this.log = log;
    this.#cancelled = cancelled;
    this.#attendance = new Attendance(patienceMs ?? 0, () => patienceMs === null || this.cancel());
    this.ended = this.#end();
  }

  watch(): Disposable {
    return this.#attendance.join();
  }

  /** Ends it as its caller would: it may clean up, and its result says why it ended. */
  cancel(): void {
    this.#cancelled.abort();
  }

  async kill(): Promise<void> {
    await this.command.kill();
  }

  async #end(): Promise<{ readonly status: number; readonly body: string }> {
    const end = await this.command.result.then(
      (result) => ({ status: 200, body: JSON.stringify(result), type: 'ended' }),
      (error: unknown) => {
        const { status, body } = describeError(error);
        return { status, body: JSON.stringify(body), type: 'error' };
      },
    );
    this.#attendance.end();
    void this.log.append(end.type, end.type === 'error' ? end.body : `{"type":"ended","result":${end.body}}`);
    this.log.end();
    return end;
  }
}

export interface CommandRegistryOptions {
  /** For output that is too much for the memory. */
  readonly directory: string;
  /** How long a command goes on while nobody waits for it. */
  readonly reattachMs: number;
}

/** The commands that run, and those that ended a short time ago. */
export class CommandRegistry implements AsyncDisposable {
  readonly #options: CommandRegistryOptions;
  readonly #commands = new Map<string, ServerCommand>();
  readonly #running = new Set<ServerCommand>();
  readonly #ended = new Shelf<ServerCommand>({
    isInUse: ({ log }) => log.hasReaders,
    onRemove: (command) => {
      this.#commands.delete(command.id);
      command.log[Symbol.dispose]();
    },
  });

  constructor(options: CommandRegistryOptions) {
    this.#options = options;
  }

  get running(): ReadonlySet<ServerCommand> {
    return this.#running;
  }

  async start({ session, argv, options, input, isBackground }: CommandPlan): Promise<ServerCommand> {
    const { directory, reattachMs } = this.#options;
    const log = new EventLog(() => path.join(directory, `events-${randomUUID()}`));
    const onOutput = ({ stream, text }: CommandOutput): Promise<void> | undefined =>
      log.append('output', JSON.stringify({ type: 'output', stream, text }));
    const cancelled = new AbortController();
    const spawned = await session.spawn(argv, { ...options, onOutput, signal: cancelled.signal });
    const patienceMs = isBackground ? null : reattachMs;
    const command = new ServerCommand(spawned, log, { owner: session.clientId, patienceMs, cancelled });
    this.#commands.set(command.id, command);
    this.#running.add(command);
    void command.ended.then(({ body }) => {
      this.#running.delete(command);
      this.#ended.put(command, command.log.memoryBytes + body.length);
    });
    if (input !== undefined) write(spawned, input).catch(() => undefined); // its result says what became of it
    return command;
  }

  /** To a client, another's command does not exist. */
  get(id: string, client: Client): ServerCommand {
    const command = this.#commands.get(id);
    if (command !== undefined && (client.id === null || client.id === command.owner)) return command;
    throw new VivariumError('COMMAND_NOT_FOUND', `There is no command ${JSON.stringify(id)}.`);
  }

  /** Ends what is still running. Its output can still be read. */
  async stop(): Promise<void> {
    const running = [...this.#running];
    await Promise.allSettled(running.map((command) => command.kill()));
    await Promise.all(running.map(({ ended }) => ended));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#ended[Symbol.dispose]();
  }
}

async function write(command: Command, input: string): Promise<void> {
  if (input !== '') await command.write(input);
  command.closeInput();
}
