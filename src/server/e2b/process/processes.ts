import { keepAlive } from '../../../process-life.ts';
import type { Session } from '../../../host/session.ts';
import { RpcError } from '../stream/rpc-error.ts';
import { HOME, toFull } from '../files/paths.ts';
import type { SandboxProcess } from './sandbox-process.ts';

/** A process by its number or by the tag that it was given. */
export type ProcessSelector = { readonly pid?: number | undefined; readonly tag?: string | undefined };

/** The commands that run in a sandbox. */
export class Processes {
  readonly #session: () => Session;
  readonly #running = new Set<SandboxProcess>();

  /** All run in the session of the default context: they share its ports and its memory. */
  constructor(session: () => Session) {
    this.#session = session;
  }

  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** It ends by itself, when it is killed, at the end of its time, or with the sandbox, for which `timeoutMs` is null. */
  async start(process: SandboxProcess, timeoutMs: number | null): Promise<void> {
    const { config, hasInput } = process;
    const command = await this.#session().spawn([config.cmd, ...config.args], {
      cwd: toFull(config.cwd ?? HOME),
      env: config.envs,
      timeoutMs,
      onOutput: (output) => process.take(output),
    });
    if (!hasInput) command.closeInput();
    this.#running.add(process);
    void keepAlive(process.follow(command)).finally(() => this.#running.delete(process));
  }

  list(): readonly SandboxProcess[] {
    return [...this.#running];
  }

  get({ pid, tag }: ProcessSelector): SandboxProcess {
    const found = this.list().find((one) => (pid === undefined ? one.tag === tag : one.pid === pid));
    if (found !== undefined) return found;
    const what = pid === undefined ? `tag ${JSON.stringify(tag)}` : `pid ${pid}`;
    throw new RpcError('not_found', `process with ${what} not found`);
  }
}
