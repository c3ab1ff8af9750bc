import { randomUUID } from 'node:crypto';
import type { Mount } from '../../../config.ts';
import type { Host } from '../../../host/host.ts';
import type { SessionOptions } from '../../../host/options.ts';
import type { Session } from '../../../host/session.ts';
import { VivariumError } from '../../../errors.ts';
import { HOME, TEMPORARY, toFull } from '../files/paths.ts';
import { SandboxFiles } from '../files/sandbox-files.ts';
import { Watchers } from '../files/watchers.ts';
import { CodeContext } from '../interpreter/context.ts';
import { setUpCode } from '../interpreter/context-code.ts';
import { Processes } from '../process/processes.ts';
import type { Client } from '../../access/client.ts';
import type { SandboxPlace } from '../place/place.ts';
import { Quota } from '../place/quota.ts';
import { makeTokens, type SandboxTokens } from '../place/tokens.ts';

/** What a sandbox is created with. */
export interface SandboxSettings {
  readonly id: string;
  /** Whose it is. */
  readonly client: Client;
  /** The template that was asked for. All sandboxes are alike. */
  readonly templateId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly variables: Readonly<Record<string, string>>;
  /** What its sessions are created with besides files and variables. */
  readonly session: Pick<SessionOptions, 'limits' | 'network'>;
}

/** A sandbox as E2B has them: interpreters and commands that share files, until its time is over. */
export class Sandbox implements AsyncDisposable {
  readonly settings: SandboxSettings;
  readonly startedAt = new Date();
  readonly tokens: SandboxTokens = makeTokens();
  readonly files: SandboxFiles;
  readonly watchers: Watchers;
  readonly processes: Processes;
  readonly quota: Quota;
  readonly #host: Host;
  readonly #place: SandboxPlace;
  readonly #contexts = new Map<string, CodeContext>();
  #default: CodeContext | null = null;
  #closing: Promise<void> | undefined;

  private constructor(host: Host, settings: SandboxSettings, place: SandboxPlace) {
    this.settings = settings;
    this.#host = host;
    this.#place = place;
    this.files = new SandboxFiles(place);
    this.watchers = new Watchers(this.files);
    this.processes = new Processes(() => this.defaultContext.session);
    this.quota = new Quota({
      place,
      limits: { ...host.limits, ...settings.session.limits },
      isBusy: () => this.processes.isBusy || this.contexts.some(({ isBusy }) => isBusy),
      onExcess: () => this.#stopAll(),
    });
  }

  /** Opens its first session, in which commands run too. */
  static async open(host: Host, settings: SandboxSettings, place: SandboxPlace): Promise<Sandbox> {
    await using stack = new AsyncDisposableStack();
    const sandbox = stack.use(new Sandbox(host, settings, place));
    sandbox.#default = await sandbox.createContext(HOME);
    stack.move();
    return sandbox;
  }

  get id(): string {
    return this.settings.id;
  }

  get contexts(): readonly CodeContext[] {
    return [...this.#contexts.values()];
  }

  get defaultContext(): CodeContext {
    if (this.#default === null) throw new TypeError('the sandbox has not been opened');
    return this.#default;
  }

  /** Without an id, the default context. */
  getContext(id: string | undefined): CodeContext {
    const found = id === undefined ? this.defaultContext : this.#contexts.get(id);
    if (found !== undefined) return found;
    throw new VivariumError('SESSION_NOT_FOUND', `Context ${id} not found`);
  }

  async createContext(cwd: string): Promise<CodeContext> {
    const full = toFull(cwd);
    const session = await this.#openSession(setUpCode(full));
    const context = new CodeContext({ id: randomUUID(), cwd: full, session, variables: this.settings.variables });
    if (this.#closing !== undefined) await session.close();
    this.#contexts.set(context.id, context);
    return context;
  }

  /** The default context is replaced by a fresh one: commands run in its session. */
  async removeContext(id: string): Promise<void> {
    const context = this.getContext(id);
    if (context === this.#default) return context.restart();
    this.#contexts.delete(id);
    await context.session.close();
  }

  /** How much a file may have. Throws if there is no room at all. */
  async roomForFile(): Promise<{ readonly maxBytes: number; readonly limit: string }> {
    const { usedBytes, maxBytes } = await this.quota.measure();
    await this.quota.assertRoom();
    const { fileMb } = { ...this.#host.limits, ...this.settings.session.limits };
    const left = maxBytes - usedBytes;
    return fileMb * 2 ** 20 < left
      ? { maxBytes: fileMb * 2 ** 20, limit: 'a file may have (limits.fileMb)' }
      : { maxBytes: left, limit: 'the sandbox has room for (limits.workspaceMb)' };
  }

  /** Ends everything in it. Its directories are left to their maker. May be called more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.quota[Symbol.dispose]();
    this.watchers[Symbol.dispose]();
    await Promise.all(this.contexts.map(({ session }) => session.close()));
  }

  async #stopAll(): Promise<void> {
    await Promise.all(this.contexts.map((context) => context.restart()));
  }

  #openSession(initCode: string): Promise<Session> {
    const { variables, session } = this.settings;
    const { access } = this.#host;
    return this.#host.createSession({
      ...session,
      initCode,
      env: { ...access.env, HOME, ...variables },
      mounts: [...access.mounts, ...mountsOf(this.#place)],
      idleMs: null,
    });
  }
}

/** What its sessions see of the machine besides the mounts of the host. */
export function mountsOf({ home, temporary }: SandboxPlace): Mount[] {
  return [
    { source: home, target: HOME, writable: true },
    { source: temporary, target: TEMPORARY, writable: true },
  ];
}
