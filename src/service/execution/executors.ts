import { statSync } from 'node:fs';
import path from 'node:path';
import type { ConfigInput, NetworkSetting, ServerAddress } from '../../config.ts';
import { createHost, createUsualHost } from '../../create-host.ts';
import type { Host } from '../../host/host.ts';
import type { Configuration, ExecutionMethod, ExecutionMode } from '../config/schema.ts';
import type { SandboxFacts } from '../generation/generator.ts';
import { wallsOf, type RunAccess } from './run-access.ts';
import { readOnlyNotice } from './read-only-notice.ts';
import { endpointOf } from '../config/addresses.ts';
import { channelLimits } from './channel-limits.ts';
import { kernelsFor } from './kernels.ts';
import type { CodeExecutor, Job } from './job.ts';
import { SessionExecutor } from './session-executor.ts';

/** Settings of the host on this machine, or the server that has the sessions instead. */
export type HostSettings = Omit<ConfigInput, 'dataDir'> | ServerAddress;

interface ExecutorsOptions {
  readonly dataDir: string;
  /** What relative paths in the configuration are relative to. */
  readonly baseDir: string;
  /** Settings of the service's own host. They take precedence over the configuration. */
  readonly settings: HostSettings;
  /** A host of the caller, used instead of the service's own. */
  readonly shared: Host | undefined;
}

/** Runs code in sessions on this machine or in kernels of a Jupyter server, one kernel per mode. Starts each when first needed. */
export class Executors implements AsyncDisposable {
  readonly #configuration: Configuration;
  readonly #options: ExecutorsOptions;
  readonly #local: SessionExecutor;
  readonly #container: Readonly<Record<ExecutionMode, SessionExecutor>>;

  constructor(configuration: Configuration, options: ExecutorsOptions) {
    this.#configuration = configuration;
    this.#options = options;
    this.#local = this.#make(() => this.#openLocal(), 'local');
    this.#container = {
      read_only: this.#make(() => this.#openContainer('read_only'), 'container'),
      write_access: this.#make(() => this.#openContainer('write_access'), 'container'),
    };
  }

  executor(method: ExecutionMethod, mode: ExecutionMode): CodeExecutor {
    return method === 'local' ? this.#local : this.#container[mode];
  }

  /** The host on this machine. It also analyzes code that runs elsewhere. */
  local(): Promise<Host> {
    return this.#local.host();
  }

  /** Opens a file that a run wrote. The local host may be the caller's, with its own store. */
  async openArtifact(method: ExecutionMethod, id: string): Promise<AsyncIterable<Uint8Array>> {
    const kernels = Object.values(this.#container).filter(({ isOpen }) => isOpen); // both share one store
    const ran = method === 'local' ? this.#local : (kernels[0] ?? this.#local);
    return (await ran.host()).artifacts.open(id);
  }

  /** What confines a run in this mode, and what it can reach. */
  async access(method: ExecutionMethod, mode: ExecutionMode): Promise<RunAccess> {
    const { modes, local } = this.#configuration.framework.execution;
    const writable = mode === 'write_access' ? local.mounts.filter((mount) => mount.writable) : [];
    return {
      walls: method === 'local' ? wallsOf((await this.local()).isolation) : 'server',
      network: modes[mode].network,
      writable: method === 'local' ? writable.map(({ target }) => target) : [],
    };
  }

  /** What generated code can rely on. */
  async sandbox(method: ExecutionMethod): Promise<SandboxFacts> {
    const { execution, python_executor: limits } = this.#configuration.framework;
    const timeoutSeconds = limits.execution_timeout_seconds;
    if (method === 'container') return { timeoutSeconds };
    const { environment } = await this.local();
    const libraries = Object.keys(environment.libraries);
    const reach = reachOf(Object.values(execution.modes).map(({ network }) => network));
    return { timeoutSeconds, pythonVersion: environment.version, libraries, ...reach };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const own = this.#options.shared === undefined ? [this.#local] : [];
    await Promise.all([...own, ...Object.values(this.#container)].map((executor) => executor[Symbol.asyncDispose]()));
  }

  #make(open: () => Promise<Host>, method: ExecutionMethod): SessionExecutor {
    const { mounts, memory_mb: memoryMb } = this.#configuration.framework.execution.local;
    const notice = ({ approvedKinds }: Job): Promise<string> =>
      readOnlyNotice(this.#configuration, { approved: approvedKinds });
    return new SessionExecutor({
      open,
      limits: () => channelLimits(this.#configuration, this.#options.baseDir),
      mounts: method === 'local' ? mounts : [],
      memoryMb,
      notice,
      isSandboxed: method === 'local',
    });
  }

  async #openLocal(): Promise<Host> {
    const { shared, dataDir, settings } = this.#options;
    if (shared !== undefined) return shared;
    if ('url' in settings) return createHost(settings);
    const { python_env_path: environmentPath } = this.#configuration.framework.execution.local;
    const python = environmentPath !== undefined && settings.environment === undefined;
    const local = { dataDir, ...(python && { python: pythonIn(environmentPath) }), ...settings };
    return Object.keys(settings).length === 0 ? createUsualHost(local) : createHost(local);
  }

  async #openContainer(mode: ExecutionMode): Promise<Host> {
    const { url, token } = endpointOf(this.#configuration, mode);
    const kernelName = kernelsFor(this.#configuration.framework.execution.modes[mode].kernel_name);
    const jupyter = { url, kernelName, ...(token !== undefined && { token }) };
    return createHost({ dataDir: this.#options.dataDir, engine: { jupyter } });
  }
}

/** What code reaches in every mode: which one it will run in is known only when it is written. */
function reachOf(networks: readonly NetworkSetting[]): Pick<SandboxFacts, 'hasNetwork' | 'hosts'> {
  if (networks.includes(false)) return { hasNetwork: false };
  const [first, ...others] = networks.filter((network) => typeof network === 'object');
  if (first === undefined) return { hasNetwork: true };
  const hosts = first.allow.filter((host) => others.every(({ allow }) => allow.includes(host)));
  return hosts.length === 0 ? { hasNetwork: false } : { hasNetwork: true, hosts };
}

/** The configuration may name the directory of an environment or its interpreter. */
function pythonIn(environmentPath: string): string {
  return statSync(environmentPath, { throwIfNoEntry: false })?.isDirectory() === true
    ? path.join(environmentPath, 'bin', 'python')
    : environmentPath;
}
