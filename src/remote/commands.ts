import type { z } from 'zod';
import { VivariumError } from '../errors.ts';
import type { Command, ExecResult } from '../execution/command.ts';
import type { ParsedCommand } from '../host/options.ts';
import { CommandEventSchema, CommandViewSchema, SignalAnswerSchema } from '../wire/http/command.ts';
import type { Connection } from './http/connection.ts';
import { encodeBody } from './http/encode-body.ts';
import { followEvents } from './http/event-follower.ts';
import type { Stoppable, UnderWay } from './under-way.ts';

/** The commands of a session on a server. */
export class RemoteCommands {
  readonly #connection: Connection;
  readonly #underWay: UnderWay;
  readonly #path: string;

  /** `path` is that of the session. */
  constructor(connection: Connection, underWay: UnderWay, path: string) {
    this.#connection = connection;
    this.#underWay = underWay;
    this.#path = `${path}/commands`;
  }

  /** Runs a command to its end. */
  async exec(parsed: ParsedCommand): Promise<ExecResult> {
    const command = await this.spawn(parsed);
    if (parsed.input !== undefined) command.write(parsed.input).catch(() => undefined); // its end says what happened
    command.closeInput();
    return command.result;
  }

  async spawn({ onOutput, signal, argv, cwd, env, timeoutMs }: ParsedCommand): Promise<RemoteCommand> {
    signal?.throwIfAborted();
    const json = encodeBody({ argv, cwd, env, timeoutMs, background: true });
    // The signal comes later: a command whose start is given up half-way could not be ended.
    const facts = await this.#connection.ask({ method: 'POST', path: this.#path, json }, CommandViewSchema);
    return new RemoteCommand(this.#connection, this.#underWay, { ...facts, onOutput, signal });
  }
}

interface RemoteCommandParts extends Pick<ParsedCommand, 'onOutput' | 'signal'> {
  readonly id: string;
  readonly pid: number;
}

/** A command that runs on a server. */
class RemoteCommand implements Command, Stoppable {
  readonly pid: number;
  readonly result: Promise<ExecResult>;
  readonly #connection: Connection;
  readonly #path: string;
  /** What is written arrives in order. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(connection: Connection, underWay: UnderWay, { id, pid, onOutput, signal }: RemoteCommandParts) {
    this.pid = pid;
    this.#connection = connection;
    this.#path = `/v1/commands/${encodeURIComponent(id)}`;
    const cancel = (): void => void this.#cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted === true) cancel();
    underWay.add(this);
    this.result = this.#follow(id, onOutput).finally(() => {
      signal?.removeEventListener('abort', cancel);
      underWay.delete(this);
    });
    this.result.catch(() => undefined); // who waits for it is told
  }

  write(data: string | Uint8Array): Promise<void> {
    const path = `${this.#path}/input`;
    return this.#inOrder(() => this.#connection.tell({ method: 'POST', path, content: data }));
  }

  closeInput(): void {
    const path = `${this.#path}/input?end=true`;
    this.#inOrder(() => this.#connection.tell({ method: 'POST', path, isRepeatable: true })).catch(() => undefined);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<boolean> {
    const call = { method: 'POST', path: `${this.#path}/signal`, json: encodeBody({ signal }) } as const;
    return (await this.#connection.ask(call, SignalAnswerSchema)).delivered;
  }

  async stop(): Promise<void> {
    await this.#cancel();
    await this.result;
  }

  #inOrder(write: () => Promise<void>): Promise<void> {
    const written = this.#writing.then(write).catch((error: unknown) => {
      if (!(error instanceof VivariumError) || error.code !== 'COMMAND_NOT_FOUND') throw error; // it reads no more
    });
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #follow(id: string, onOutput: ParsedCommand['onOutput']): Promise<ExecResult> {
    const path = `${this.#path}/events`;
    const read = (json: unknown): z.infer<typeof CommandEventSchema> => CommandEventSchema.parse(json);
    const failures: unknown[] = [];
    for await (const event of followEvents(this.#connection, { what: `command ${id}`, path, read, last: 'ended' })) {
      if (event.type === 'ended') {
        if (failures.length > 0) throw failures[0];
        return event.result;
      }
      if (failures.length > 0) continue; // it is being ended
      try {
        await onOutput?.({ stream: event.stream, text: event.text });
      } catch (error) {
        failures.push(error);
        void this.#cancel();
      }
    }
    throw new VivariumError('OUTCOME_UNKNOWN', `The server does not say how command ${id} ended.`);
  }

  /** That it cannot be ended any more is no error. */
  async #cancel(): Promise<void> {
    const call = { method: 'POST', path: `${this.#path}/cancel`, isRepeatable: true } as const;
    await this.#connection.tell(call).catch(() => undefined);
  }
}
