import type { Mount } from '../../config.ts';
import type { SessionOptions } from '../../host/options.ts';
import type { Caller } from '../context.ts';
import { describeSurroundings } from '../description.ts';
import { isolationOf, resolveAccess } from '../place/access.ts';
import { resolveDirectory } from '../place/host-directory.ts';
import type { LazyEngine } from '../place/lazy-engine.ts';
import { enterDirectory, type Workdir } from './init-code.ts';
import type { ToolSetSettings } from './options.ts';

/** What the interpreters of a toolset find where they work: files, limits, and what was opened for them. */
export class Workplace {
  readonly #engine: LazyEngine;
  readonly #settings: ToolSetSettings;
  #resolved: Promise<string> | undefined;

  constructor(engine: LazyEngine, settings: ToolSetSettings) {
    this.#engine = engine;
    this.#settings = settings;
  }

  async workdir(): Promise<Workdir | null> {
    const { workdir, workdirWritable } = this.#settings;
    if (workdir === null) return null;
    this.#resolved ??= resolveDirectory('workdir', workdir).catch((error: unknown) => {
      this.#resolved = undefined; // it may be there at the next call
      throw error;
    });
    return { path: await this.#resolved, isWritable: workdirWritable };
  }

  /** How a session for this caller is opened. */
  async sessionOptions({ clientId, chatId, sessionId, variables }: Caller): Promise<SessionOptions> {
    const { timeoutMs, memoryMb, initCode, access } = this.#settings;
    const workdir = await this.workdir();
    const code = [workdir === null ? '' : enterDirectory(workdir), initCode ?? ''].join('');
    const context = { ...variables, client_id: clientId, chat_id: chatId, session_id: sessionId };
    return {
      initCode: code === '' ? null : code,
      limits: { timeoutMs, ...(memoryMb !== undefined && { memoryMb }) },
      ...resolveAccess(access, await this.#engine.get(), {
        mounts: mountsOf(workdir),
        environment: { PANTHEON_CONTEXT: JSON.stringify({ workdir: workdir?.path ?? null, ...context }) },
      }),
    };
  }

  /** The same in words for a model. */
  async describe(): Promise<string> {
    const { timeoutMs, memoryMb, access: given } = this.#settings;
    const engine = await this.#engine.get();
    const access = resolveAccess(given, engine);
    return describeSurroundings({
      environment: engine.environment,
      isolation: isolationOf(engine, access),
      timeoutMs,
      memoryMb: memoryMb ?? engine.limits.memoryMb,
      keeps: 'variables and files',
      workdir: (await this.workdir()) ?? undefined,
      mounts: access.mounts,
    });
  }
}

function mountsOf(workdir: Workdir | null): Mount[] {
  return workdir === null ? [] : [{ source: workdir.path, target: workdir.path, writable: workdir.isWritable }];
}
