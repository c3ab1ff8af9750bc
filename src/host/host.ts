import path from 'node:path';
import type { ArtifactStore } from '../artifact/store.ts';
import { parseConfig, type Config, type Limits } from '../config.ts';
import type { Engine } from '../engine/engine.ts';
import type { Environment } from '../environment/environment.ts';
import type { Execution } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import { openArtifacts } from './artifacts.ts';
import { resolveKey } from './keys.ts';
import {
  parseKeyedRun,
  SettingsParser,
  type HostOptions,
  type KeyOptions,
  type OnceOptions,
  type RunOptions,
  type SessionOptions,
} from './options.ts';
import { startHere, type Started } from './start-here.ts';
import type { Session, SessionInfo } from './session.ts';
import { Sessions } from './sessions.ts';

/** What the command line has started already, and what it does without. */
export interface CommandParts {
  readonly starting: Promise<Started>;
  /** Each session runs once, so no twin protects its state. */
  readonly runsOnce: boolean;
  /** No copies are kept of the files, figures and long outputs that runs produce. */
  readonly keepsNothing: boolean;
}

/** Finds a Python, starts the engine on it and gives the interpreter that owns both. */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  return Host.start(options);
}

interface HostParts {
  readonly environment: Environment;
  readonly engine: Engine;
  readonly artifacts: ArtifactStore;
  readonly sessions: Sessions;
  readonly settings: SettingsParser;
  readonly config: Config;
  readonly runsOnce: boolean;
  readonly owned: AsyncDisposableStack;
}

/** Runs Python in sessions, and owns them. */
export class Host implements AsyncDisposable {
  /** The Python that sessions run on, and the libraries that it has. */
  readonly environment: Environment;
  /** Files that runs produced. They outlive their sessions until their retention ends. */
  readonly artifacts: ArtifactStore;
  readonly #parts: HostParts;
  #closing: Promise<void> | undefined;

  private constructor(parts: HostParts) {
    this.environment = parts.environment;
    this.artifacts = parts.artifacts;
    this.#parts = parts;
  }

  /** `command` is for the command line only, see command-host.ts. */
  static async start({ initCode, signal, jupyter, ...input }: HostOptions, command?: CommandParts): Promise<Host> {
    const config = parseConfig(input);
    const settings = new SettingsParser(config, initCode ?? null);
    await using stack = new AsyncDisposableStack();
    const starting = command?.starting ?? (jupyter ? connect(jupyter, config, signal) : startHere(config, { signal }));
    const { engine, environment } = await starting;
    stack.use(engine);
    const artifacts = stack.use(openArtifacts(config));
    const { runsOnce = false, keepsNothing = false } = command ?? {};
    if (command === undefined) await artifacts.sweep();
    else if (!keepsNothing) stack.defer(async () => void (await artifacts.trim())); // it ends before upkeep is due
    const parts = { engine, store: artifacts, keepsNothing, pythonVersion: environment.version, caps: config };
    const sessions = stack.use(new Sessions(parts));
    if (command !== undefined) stack.use(engine); // closed first, it ends its sessions faster than one by one
    return new Host({
      environment,
      engine,
      artifacts,
      sessions,
      settings,
      config,
      runsOnce,
      owned: stack.move(),
    });
  }

  /** What sessions may use unless they say otherwise. */
  get limits(): Limits {
    return this.#parts.config.limits;
  }

  /** What of the host sessions see and reach unless they say otherwise. */
  get access(): Pick<Config, 'mounts' | 'network' | 'environment'> {
    const { mounts, network, environment } = this.#parts.config;
    return { mounts, network, environment };
  }

  /** What confines sessions on this machine unless they say otherwise, as observed. */
  get isolation(): Isolation {
    const { engine, config } = this.#parts;
    return config.network ? { ...engine.isolation, network: 'host' } : engine.isolation;
  }

  /** Runs code in the session with this id, or in that of the chat or client, which is opened if need be. */
  async runCode(code: string, options: RunOptions & KeyOptions = {}): Promise<Execution> {
    const { id, sessionId, chatId, clientId, ...run } = parseKeyedRun(code, options);
    const { sessions, settings } = this.#parts;
    if (id !== undefined) return sessions.get(id, clientId).execute(run);
    const key = resolveKey({ sessionId, chatId, clientId });
    const session = await sessions.ofKey(key, () => settings.parseSession(clientId === undefined ? {} : { clientId }));
    return session.execute(run);
  }

  /** Runs code in a session of its own, which is gone afterwards with its variables and files. */
  async runOnce(code: string, options: OnceOptions = {}): Promise<Execution> {
    const { settings, run } = this.#parts.settings.parseOnce(code, options);
    const session = await this.#parts.sessions.open({ settings, isOnce: true });
    try {
      return await session.execute(run);
    } finally {
      // The answer is complete and does not wait for the walls to come down; closing the interpreter does.
      session.close().catch(() => undefined);
    }
  }

  /** Opens a session and runs its init code. */
  async createSession(options: SessionOptions = {}): Promise<Session> {
    const { settings, signal } = this.#parts.settings.parseCreated(options);
    signal?.throwIfAborted();
    await using stack = new AsyncDisposableStack();
    const { sessions, runsOnce: isOnce } = this.#parts;
    const session = stack.use(await sessions.open({ settings, signal, isOnce }));
    using _ = onAbort(signal, () => void session.close().catch(() => undefined)); // disposing it meets the same error
    await session.prepare().catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
    signal?.throwIfAborted();
    stack.move(); // ready: the caller owns it now
    return session;
  }

  getSession(id: string): Session {
    return this.#parts.sessions.get(id);
  }

  listSessions(): SessionInfo[] {
    return this.#parts.sessions.list().map((session) => session.info());
  }

  /** Closes every session and ends the engine. */
  close(): Promise<void> {
    return (this.#closing ??= this.#parts.owned.disposeAsync());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function onAbort(signal: AbortSignal | undefined, act: () => void): Disposable {
  signal?.addEventListener('abort', act, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', act) };
}

/** Of the Python there nothing is known but that it is one that we can use. */
async function connect(
  server: NonNullable<HostOptions['jupyter']>,
  { dataDir }: Config,
  signal: AbortSignal | undefined,
): Promise<Started> {
  const { startJupyterEngine } = await import('../engine/jupyter/engine.ts');
  const engine = await startJupyterEngine({ ...server, ...(signal && { signal }) });
  const python = server.kernelName ?? 'the default kernel';
  const cacheDir = path.join(dataDir, 'cache');
  return { engine, environment: { python, version: '3', source: 'remote', libraries: {}, missing: [], cacheDir } };
}
