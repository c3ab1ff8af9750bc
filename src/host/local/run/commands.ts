import { VivariumError } from '../../../errors.ts';
import type { CommandRequest, EngineSession } from '../../../engine/engine.ts';
import type { Command, ExecResult } from '../../../execution/command.ts';
import type { Limits } from '../../../config.ts';
import type { ParsedCommand } from '../../options.ts';
import type { HostedFiles } from './files.ts';

export interface CommandsParts {
  readonly inner: EngineSession;
  readonly files: HostedFiles;
  readonly limits: Limits;
  /** Throws once the session has ended. */
  readonly assertOpen: () => void;
}

/** The commands of the system that run in a session. They take no turns: they run beside Python and beside each other. */
export class Commands {
  readonly #parts: CommandsParts;
  #running = 0;
  #lastEndMs = performance.now();

  constructor(parts: CommandsParts) {
    this.#parts = parts;
  }

  /** For how long there was none; 0 while one runs. */
  get idleForMs(): number {
    return this.#running > 0 ? 0 : performance.now() - this.#lastEndMs;
  }

  /** Runs a command to its end. */
  async exec(parsed: ParsedCommand): Promise<ExecResult> {
    const command = await this.spawn(parsed);
    if (parsed.input !== undefined) void command.write(parsed.input);
    command.closeInput();
    return command.result;
  }

  async spawn({ argv, cwd = '.', env = {}, timeoutMs, onOutput, signal }: ParsedCommand): Promise<Command> {
    const { inner, files, limits, assertOpen } = this.#parts;
    assertOpen();
    this.#admit();
    const request: CommandRequest = {
      argv,
      cwd,
      env,
      timeoutMs: timeoutMs === undefined ? limits.timeoutMs : timeoutMs,
      maxOutputBytes: limits.outputBytes,
      onOutput,
      signal,
    };
    const stay = files.admitWriter();
    this.#running += 1;
    const leave = (): void => {
      this.#running -= 1;
      this.#lastEndMs = performance.now();
      stay[Symbol.dispose]();
    };
    try {
      const command = await inner.start(request);
      command.result.then(leave, leave);
      return command;
    } catch (error) {
      leave();
      assertOpen(); // the caller of a session that ends gets that error
      throw error;
    }
  }

  /** Each is a process at least. */
  #admit(): void {
    const { inner, limits } = this.#parts;
    if (this.#running < limits.processes) return;
    throw new VivariumError(
      'QUEUE_FULL',
      `Session ${inner.id} runs ${this.#running} commands, as many as it may have processes (limits.processes). ` +
        'Wait for one of them, or end one.',
    );
  }
}
