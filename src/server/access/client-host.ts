import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Artifact, Artifacts } from '../../artifact/artifact.ts';
import type { ClientOptions, Limits } from '../../config.ts';
import type { Environment } from '../../environment/environment.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { Host, HostAccess } from '../../host/host.ts';
import { keyOfId, resolveKey } from '../../host/keys.ts';
import type { KeyOptions, OnceOptions, RunOptions, SessionOptions } from '../../host/options.ts';
import type { Session, SessionInfo } from '../../host/session.ts';
import { keepWithin } from './ceiling/ceiling.ts';
import { actingFor, type Client, type Scope } from './client.ts';
import { ClientSession } from './client-session.ts';
import { followLinks } from './ceiling/mount-sources.ts';
import type { Usage } from './usage.ts';

/**
 * A host as one client sees it: its own sessions and artifacts, within its ceiling and quotas. Routes, tools and the
 * service get this and never the host itself, so none of them can forget to ask who calls.
 */
export class ClientHost implements Host {
  readonly artifacts: Artifacts;
  readonly #host: Host;
  readonly #client: Client;
  readonly #usage: Usage;

  constructor(host: Host, client: Client, usage: Usage) {
    this.#host = host;
    this.#client = client;
    this.#usage = usage;
    this.artifacts = new ClientArtifacts(host.artifacts, client);
  }

  get environment(): Environment {
    return this.#host.environment;
  }

  get limits(): Limits {
    return this.#host.limits;
  }

  get access(): HostAccess {
    return this.#host.access;
  }

  get isolation(): Isolation {
    return this.#host.isolation;
  }

  async runCode(code: string, options: RunOptions & KeyOptions = {}): Promise<Execution> {
    const own = { ...keepWithin(options, this.#client.ceiling), ...this.#own(options) };
    using held = new DisposableStack();
    held.use(this.#usage.beginRun(this.#client));
    if (own.id === undefined) held.use(await this.#openSession(resolveKey(own)));
    return await this.#host.runCode(code, own);
  }

  async runOnce(code: string, options: OnceOptions = {}): Promise<Execution> {
    const own = await this.#allowed(options);
    using _ = this.#usage.beginRun(this.#client);
    return await this.#host.runOnce(code, own);
  }

  async createSession(options: SessionOptions = {}): Promise<Session> {
    const own = await this.#allowed(options);
    const id = own.id ?? randomUUID();
    using _ = await this.#openSession(keyOfId(id));
    return this.#confine(await this.#host.createSession({ ...own, id }));
  }

  async getSession(id: string, options: ClientOptions = {}): Promise<Session> {
    return this.#confine(await this.#host.getSession(id, this.#own(options)));
  }

  async listSessions(options: ClientOptions = {}): Promise<SessionInfo[]> {
    return this.#host.listSessions(this.#own(options));
  }

  /** Does nothing: the server owns the host. */
  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  #own({ clientId }: ClientOptions): Scope {
    return actingFor(this.#client, clientId);
  }

  async #allowed<T extends SessionOptions | OnceOptions>(options: T): Promise<T> {
    const { ceiling } = this.#client;
    const own = { ...keepWithin(options, ceiling), ...this.#own(options) };
    if (ceiling === null || own.mounts === undefined) return own;
    return { ...own, mounts: await followLinks(own.mounts, ceiling) };
  }

  async #openSession(key: string): Promise<Disposable> {
    return this.#usage.openSession(this.#client, key, async () => {
      const sessions = await this.#host.listSessions(this.#own({}));
      return sessions.map((session) => session.key);
    });
  }

  #confine(session: Session): Session {
    return new ClientSession(session, this.#client, this.#usage);
  }
}

class ClientArtifacts implements Artifacts {
  readonly #artifacts: Artifacts;
  readonly #client: Client;

  constructor(artifacts: Artifacts, client: Client) {
    this.#artifacts = artifacts;
    this.#client = client;
  }

  async open(id: string, options: ClientOptions = {}): Promise<Readable> {
    return this.#artifacts.open(id, actingFor(this.#client, options.clientId));
  }

  async get(id: string, options: ClientOptions = {}): Promise<Artifact> {
    return this.#artifacts.get(id, actingFor(this.#client, options.clientId));
  }

  async list({ sessionId, clientId }: ClientOptions & { readonly sessionId: string }): Promise<Artifact[]> {
    return this.#artifacts.list({ sessionId, ...actingFor(this.#client, clientId) });
  }

  async remove(id: string, options: ClientOptions = {}): Promise<void> {
    return this.#artifacts.remove(id, actingFor(this.#client, options.clientId));
  }
}
