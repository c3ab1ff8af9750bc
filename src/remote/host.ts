import { ClientOptions, parse, type Limits } from '../config.ts';
import type { Environment } from '../environment/environment.ts';
import type { Execution } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { Host, HostAccess } from '../host/host.ts';
import {
  parseKeyedRun,
  type KeyOptions,
  type OnceOptions,
  type RunOptions,
  type SessionOptions,
} from '../host/options.ts';
import type { Session, SessionInfo } from '../host/session.ts';
import { SessionListSchema, SessionViewSchema } from '../wire/http/session.ts';
import { RemoteArtifacts } from './artifacts.ts';
import { Connection } from './http/connection.ts';
import { encodeBody } from './http/encode-body.ts';
import { withQuery } from './http/query.ts';
import { ownSettings } from './own-settings.ts';
import { RemoteRun, type RunOrder } from './run.ts';
import { RemoteSession, type SessionFacts } from './session.ts';
import { HostShape, type HostFacts } from './shapes.ts';
import type { UnderWay } from './under-way.ts';

/** A host on a server. Its sessions live there, whether this program is connected or not. */
export class RemoteHost implements Host {
  readonly environment: Environment;
  readonly limits: Limits;
  readonly maxLimits: Limits | undefined;
  readonly access: HostAccess;
  readonly isolation: Isolation;
  readonly artifacts: RemoteArtifacts;
  readonly #connection: Connection;
  readonly #underWay: UnderWay = new Set();
  #closing: Promise<void> | undefined;

  private constructor(connection: Connection, { environment, limits, access, isolation, ceiling }: HostFacts) {
    this.environment = environment;
    this.limits = limits;
    this.maxLimits = ceiling?.limits;
    this.access = access;
    this.isolation = isolation;
    this.artifacts = new RemoteArtifacts(connection);
    this.#connection = connection;
  }

  static async connect(url: URL, key?: string, signal?: AbortSignal): Promise<RemoteHost> {
    const connection = new Connection(url, key);
    try {
      return new RemoteHost(connection, await connection.ask({ method: 'GET', path: '/v1/host', signal }, HostShape));
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async runCode(code: string, options: RunOptions & KeyOptions = {}): Promise<Execution> {
    return this.#run('/v1/runs', parseKeyedRun(code, options)).execution();
  }

  async runOnce(code: string, options: OnceOptions = {}): Promise<Execution> {
    return this.#run('/v1/runs/once', { ...ownSettings(options, this.access), code }).execution();
  }

  async createSession({ signal, ...options }: SessionOptions = {}): Promise<Session> {
    const json = encodeBody(ownSettings(options, this.access));
    return this.#session(
      await this.#connection.ask({ method: 'POST', path: '/v1/sessions', json, signal }, SessionViewSchema),
    );
  }

  async getSession(id: string, options: ClientOptions = {}): Promise<Session> {
    const path = withQuery(`/v1/sessions/${encodeURIComponent(id)}`, parse(ClientOptions, options));
    return this.#session(await this.#connection.ask({ method: 'GET', path }, SessionViewSchema));
  }

  async listSessions(options: ClientOptions = {}): Promise<SessionInfo[]> {
    const path = withQuery('/v1/sessions', parse(ClientOptions, options));
    return (await this.#connection.ask({ method: 'GET', path }, SessionListSchema)).sessions;
  }

  /** Cancels what this program has running there, and lets go. The sessions stay. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.allSettled(Array.from(this.#underWay, (work) => work.stop())); // its caller gets the error
    this.#connection.close();
  }

  #session(facts: SessionFacts): RemoteSession {
    return new RemoteSession(this.#connection, this.#underWay, facts);
  }

  #run(path: string, order: RunOrder & { readonly id?: string | undefined }): RemoteRun {
    const session = { id: order.id ?? '', generation: 1, isolation: this.isolation };
    return new RemoteRun({ connection: this.#connection, underWay: this.#underWay, path, session }, order);
  }
}
