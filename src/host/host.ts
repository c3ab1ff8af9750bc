import type { Artifacts } from '../artifact/artifact.ts';
import type { ClientOptions, Limits, Mount, NetworkSetting, PackagePolicy } from '../config.ts';
import type { Environment } from '../environment/environment.ts';
import type { Execution } from '../execution/execution.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { KeyOptions, OnceOptions, RunOptions, SessionOptions } from './options.ts';
import type { Session, SessionInfo } from './session.ts';

/**
 * A place with sessions, keys, caps, history and artifacts. Doors, tools, the agent and the service take a `Host` and
 * cannot tell where its sessions live. Everything here can also be offered over a network: data is plain, and whatever
 * has to ask the host is a promise.
 */
export interface Host extends AsyncDisposable {
  /** The Python that sessions run on, and the libraries that it has. */
  readonly environment: Environment;
  /** What a session may use unless it is created with other limits. */
  readonly limits: Limits;
  /** The highest limits that this caller may ask for; absent if it may ask for any. */
  readonly maxLimits?: Limits | undefined;
  /** What a session sees and reaches outside itself unless it is created with other settings. */
  readonly access: HostAccess;
  /** What confines a session unless it is created with other settings, as observed. */
  readonly isolation: Isolation;
  /** Files that runs produced. They outlive their sessions until their retention ends. */
  readonly artifacts: Artifacts;
  /** Runs code in the session with this id, or in that of the chat or client, which is opened if there is none. */
  runCode(code: string, options?: RunOptions & KeyOptions): Promise<Execution>;
  /** Runs code in a session of its own, which is gone afterwards with its variables and files. */
  runOnce(code: string, options?: OnceOptions): Promise<Execution>;
  /** Opens a session and runs its init code. */
  createSession(options?: SessionOptions): Promise<Session>;
  /** An open session. With a `clientId`, another client's session is not found. */
  getSession(id: string, options?: ClientOptions): Promise<Session>;
  /** The open sessions. With a `clientId`, only those of that client. */
  listSessions(options?: ClientOptions): Promise<SessionInfo[]>;
  /** Lets go of the host: one that owns its sessions closes them, one elsewhere keeps them. May be called again. */
  close(): Promise<void>;
}

/** What sessions of a host see and reach outside themselves. */
export interface HostAccess {
  /** Files and directories of the machine. */
  readonly mounts: readonly Mount[];
  /** Whether they have the network of the machine, none, or a way to listed hosts. */
  readonly network: NetworkSetting;
  /** Their environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** What their programs may install. */
  readonly packages: PackagePolicy;
}
