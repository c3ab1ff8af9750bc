/** How the interpreters of a toolset are set up: working directory, limits, access and init code. */
import { stat } from 'node:fs/promises';
import type { Mount } from '../../config.ts';
import type { SessionOptions } from '../../host/options.ts';
import { Once } from '../../once.ts';
import { changeDirectory, pythonString } from '../../text/code/python-code.ts';
import type { DirectoryIdentity } from '../../workspace/held-directory.ts';
import { isolationOf, resolveAccess, resolveDirectory } from '../access.ts';
import type { CallerIdentity } from '../call.ts';
import { describeSurroundings } from '../description.ts';
import type { LazyHost } from '../lazy.ts';
import type { ToolSetSettings } from './options.ts';

/** A directory of the machine that interpreters work in. */
export interface Workdir {
  readonly path: string;
  /** What the path led to when it was used first. */
  readonly identity: DirectoryIdentity;
  readonly isWritable: boolean;
}

export class InterpreterSetup {
  readonly #host: LazyHost;
  readonly #settings: ToolSetSettings;
  readonly #directory = new Once(async (directory: string) => {
    const path = await resolveDirectory('workdir', directory);
    return { path, identity: await stat(path, { bigint: true }) };
  });

  constructor(host: LazyHost, settings: ToolSetSettings) {
    this.#host = host;
    this.#settings = settings;
  }

  async workdir(): Promise<Workdir | null> {
    const { workdir, workdirWritable } = this.#settings;
    if (workdir === null) return null;
    return { ...(await this.#directory.get(workdir)), isWritable: workdirWritable };
  }

  /** The options of a new session for this caller. */
  async sessionOptions({ clientId, chatId, sessionId, variables }: CallerIdentity): Promise<SessionOptions> {
    const { timeoutMs, memoryMb, initCode, access } = this.#settings;
    const workdir = await this.workdir();
    const code = [workdir === null ? '' : enterDirectory(workdir), initCode ?? ''].join('');
    const context = { ...variables, client_id: clientId, chat_id: chatId, session_id: sessionId };
    return {
      initCode: code === '' ? null : code,
      limits: { timeoutMs, ...(memoryMb !== undefined && { memoryMb }) },
      ...resolveAccess(access, await this.#host.get(), {
        mounts: mountsOf(workdir),
        environment: { PANTHEON_CONTEXT: JSON.stringify({ workdir: workdir?.path ?? null, ...context }) },
      }),
    };
  }

  /** Where the code runs, in words for a model. */
  async describe(): Promise<string> {
    const { timeoutMs, memoryMb, access: given } = this.#settings;
    const host = await this.#host.get();
    const access = resolveAccess(given, host);
    return describeSurroundings({
      environment: host.environment,
      isolation: isolationOf(host, access),
      timeoutMs,
      memoryMb: memoryMb ?? host.limits.memoryMb,
      keeps: 'variables and files',
      workdir: (await this.workdir()) ?? undefined,
      mounts: access.mounts,
    });
  }
}

function mountsOf(workdir: Workdir | null): Mount[] {
  return workdir === null ? [] : [{ source: workdir.path, target: workdir.path, writable: workdir.isWritable }];
}

/** Python that enters the working directory, and fails at once if it should be writable and is not. */
function enterDirectory({ path, isWritable }: Workdir): string {
  const enter = `${changeDirectory(path)}\n`;
  if (!isWritable) return enter;
  const refusal =
    `Sessions cannot write to the workdir ${path}. When Vivarium runs as root, sessions write as the owner of the directory, but never as root. ` +
    'Give the directory to another user (chown), make it writable for others (chmod o+rwx), or pass workdirWritable: false.';
  return `${enter}if not __import__("os").access(".", 2): raise PermissionError(${pythonString(refusal)})\n`;
}
