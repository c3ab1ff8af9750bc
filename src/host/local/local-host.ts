import path from 'node:path';
import { ArtifactStore } from '../../artifact/store.ts';
import { parse, parseConfig, ClientOptions, type Config, type Limits } from '../../config.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Environment } from '../../environment/environment.ts';
import { VivariumError } from '../../errors.ts';
import { closeBeforeExit } from '../../process-life.ts';
import type { Execution } from '../../execution/execution.ts';
import { withNetwork, type Isolation } from '../../execution/isolation.ts';
import { startEngine, startNamed, type StartedEngine } from './engines.ts';
import { Environments } from './environments.ts';
import { warnAtImport } from './import-warning.ts';
import type { Host, HostAccess } from '../host.ts';
import { resolveKey } from '../keys.ts';
import {
  parseKeyedRun,
  SettingsParser,
  type HostOptions,
  type KeyOptions,
  type OnceOptions,
  type RunOptions,
  type SessionOptions,
} from '../options.ts';
import type { Session, SessionInfo } from '../session.ts';
import { SessionLog } from './session-log.ts';
import { Sessions } from './sessions.ts';

const DAY_MS = 24 * 3_600_000;

/** Starts the engine and returns the host that owns it. */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  return LocalHost.start(options);
}

/** What the command line has already started, and what it does without. */
export interface CommandParts {
  readonly starting: Promise<StartedEngine>;
  /** Each session runs once, so no twin protects its state. */
  readonly runsOnce: boolean;
  /** No copies are kept of the files, figures and long outputs that runs produce. */
  readonly keepsNothing: boolean;
}

interface LocalHostParts {
  readonly environment: Environment;
  readonly engine: Engine;
  readonly artifacts: ArtifactStore;
  readonly sessions: Sessions;
  readonly settings: SettingsParser;
  readonly config: Config;
  readonly runsOnce: boolean;
  readonly owned: AsyncDisposableStack;
}

/** The host whose sessions, caps and artifacts are kept by this process. Its engine decides where code runs. */
export class LocalHost implements Host {
  readonly environment: Environment;
  readonly artifacts: ArtifactStore;
  readonly #parts: LocalHostParts;
  #closing: Promise<void> | undefined;

  private constructor(parts: LocalHostParts) {
    this.environment = parts.environment;
    this.artifacts = parts.artifacts;
    this.#parts = parts;
    parts.owned.use(closeBeforeExit(this));
  }

  /** `command` is for the command line only, see command-host.ts. */
  static async start(options: HostOptions, command?: CommandParts): Promise<LocalHost> {
    const { initCode, signal, engine: choice = 'local', log, logCode = false, ...input } = options;
    const { runsOnce = false, keepsNothing = false } = command ?? {};
    const config = parseConfig(input);
    const settings = new SettingsParser(config, initCode ?? null);
    await using stack = new AsyncDisposableStack();
    const own = await (command?.starting ?? startEngine(choice, config, signal));
    const { engine, environment } = own;
    const start = (name: string): Promise<StartedEngine> => startNamed(name, choice, config);
    const environments = stack.use(new Environments({ own, ownName: config.environment, start }));
    const artifacts = stack.use(openArtifacts(config));
    if (command === undefined) await tidy(artifacts.sweep());
    else if (!keepsNothing) stack.defer(() => tidy(artifacts.trim())); // it ends before upkeep is due
    const parts = { environments, store: artifacts, keepsNothing, caps: config };
    const onError = command === undefined ? warnAtImport() : undefined; // a command tells it itself
    const sessions = stack.use(new Sessions({ ...parts, onError, log: log && new SessionLog(log, logCode) }));
    if (command !== undefined) stack.use(environments); // closed first, it ends its sessions faster than one by one
    return new LocalHost({ environment, engine, artifacts, sessions, settings, config, runsOnce, owned: stack.move() });
  }

  get limits(): Limits {
    return this.#parts.config.limits;
  }

  get access(): HostAccess {
    const { mounts, network, env, packages } = this.#parts.config;
    return { mounts, network, env, packages };
  }

  /** How many sessions wait in the warm pool. */
  get warmSessions(): number {
    return this.#parts.engine.warmSessions ?? 0;
  }

  get isolation(): Isolation {
    const { engine, config } = this.#parts;
    return withNetwork(engine.isolation, config.network);
  }

  async runCode(code: string, options: RunOptions & KeyOptions = {}): Promise<Execution> {
    const { id, sessionId, chatId, clientId, ...run } = parseKeyedRun(code, options);
    const { sessions, settings } = this.#parts;
    if (id !== undefined) return sessions.get(id, clientId).execute(run);
    const key = resolveKey({ sessionId, chatId, clientId });
    const session = await sessions.ofKey(key, () => settings.parseSession(clientId === undefined ? {} : { clientId }));
    return session.execute(run);
  }

  async runOnce(code: string, options: OnceOptions = {}): Promise<Execution> {
    const { settings, run } = this.#parts.settings.parseOnce(code, options);
    const session = await this.#parts.sessions.open({ settings, isOnce: true });
    try {
      return await session.execute(run);
    } finally {
      // The result is complete; only closing the host waits for the enclosure to be taken down.
      session.close().catch(() => undefined);
    }
  }

  async createSession(options: SessionOptions = {}): Promise<Session> {
    const { settings, signal } = this.#parts.settings.parseCreated(options);
    signal?.throwIfAborted();
    await using stack = new AsyncDisposableStack();
    const { sessions, runsOnce: isOnce } = this.#parts;
    const session = stack.use(await sessions.open({ settings, signal, isOnce }));
    using _ = onAbort(signal, () => void session.close().catch(() => undefined)); // disposing it reports the same error
    await session.prepare().catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
    signal?.throwIfAborted();
    stack.move(); // ready: the caller owns it now
    return session;
  }

  async getSession(id: string, options: ClientOptions = {}): Promise<Session> {
    const { clientId } = parse(ClientOptions, options);
    return this.#parts.sessions.get(id, clientId);
  }

  async listSessions(options: ClientOptions = {}): Promise<SessionInfo[]> {
    const { clientId } = parse(ClientOptions, options);
    return Promise.all(this.#parts.sessions.list(clientId).map((session) => session.info()));
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#parts.owned.disposeAsync());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function openArtifacts({ dataDir, artifactDays, artifactMb }: Config): ArtifactStore {
  const retention = { maxAgeMs: artifactDays * DAY_MS, maxTotalBytes: artifactMb * 2 ** 20 };
  return new ArtifactStore(path.join(dataDir, 'artifacts'), retention);
}

/** A host works without a store that can be written. Each file that a run produces then says why there is no copy. */
async function tidy(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof VivariumError)) throw error;
  });
}

function onAbort(signal: AbortSignal | undefined, act: () => void): Disposable {
  signal?.addEventListener('abort', act, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', act) };
}
