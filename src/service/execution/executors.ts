import { statSync } from 'node:fs';
import path from 'node:path';
import type { ConfigInput } from '../../config.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local-host.ts';
import type { Configuration, ExecutionMethod, ExecutionMode } from '../config/schema.ts';
import { ContainerConfigurationError } from '../failures.ts';
import type { SandboxFacts } from '../generation/generator.ts';
import { readOnlyGuard } from '../policy/guard.ts';
import { endpointOf } from './endpoint.ts';
import type { CodeExecutor, Job } from './job.ts';
import { SessionExecutor } from './session-executor.ts';

/** How an interpreter on this machine is made. */
export type HostSettings = Omit<ConfigInput, 'dataDir'>;

interface ExecutorsOptions {
  readonly dataDir: string;
  /** What the interpreter of our own is made with; it wins over the configuration. */
  readonly settings: HostSettings;
  /** Somebody else's interpreter, to be used in place of one of our own. */
  readonly shared: Host | undefined;
}

/** Where code runs, started when it is first needed: sessions of this machine, and on a Jupyter server a kernel for each mode. */
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

  /** Sessions of this machine: they also analyze code that runs elsewhere. */
  local(): Promise<Host> {
    return this.#local.host();
  }

  /** A file that a run left. Sessions of this machine may be somebody else's, with a store of their own. */
  async openArtifact(method: ExecutionMethod, id: string): Promise<AsyncIterable<Uint8Array>> {
    const kernels = Object.values(this.#container).filter(({ isOpen }) => isOpen); // both have the same store
    const ran = method === 'local' ? this.#local : (kernels[0] ?? this.#local);
    return (await ran.host()).artifacts.open(id);
  }

  /** What a generator may count on. */
  async sandbox(method: ExecutionMethod): Promise<SandboxFacts> {
    const { execution, python_executor: limits } = this.#configuration.framework;
    const timeoutSeconds = limits.execution_timeout_seconds;
    if (method === 'container') return { timeoutSeconds };
    const { environment } = await this.local();
    const libraries = Object.keys(environment.libraries);
    const hasNetwork = Object.values(execution.modes).every(({ network }) => network);
    return { timeoutSeconds, pythonVersion: environment.version, libraries, hasNetwork };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const own = this.#options.shared === undefined ? [this.#local] : [];
    await Promise.all([...own, ...Object.values(this.#container)].map((executor) => executor[Symbol.asyncDispose]()));
  }

  #make(open: () => Promise<Host>, method: ExecutionMethod): SessionExecutor {
    const { mounts, memory_mb: memoryMb } = this.#configuration.framework.execution.local;
    const guard = ({ approvedKinds }: Job): Promise<string> =>
      readOnlyGuard(this.#configuration, { approved: approvedKinds });
    return new SessionExecutor({
      open,
      mounts: method === 'local' ? mounts : [],
      memoryMb,
      guard,
      isWalled: method === 'local',
    });
  }

  async #openLocal(): Promise<Host> {
    const { shared, dataDir, settings } = this.#options;
    if (shared !== undefined) return shared;
    const { python_env_path: place } = this.#configuration.framework.execution.local;
    return createHost({ dataDir, ...(place !== undefined && { python: hostIn(place) }), ...settings });
  }

  async #openContainer(mode: ExecutionMode): Promise<Host> {
    const { url, token } = endpointOf(this.#configuration, mode);
    if (token === undefined) throw noToken();
    const jupyter = { url, token, kernelName: this.#configuration.framework.execution.modes[mode].kernel_name };
    return createHost({ dataDir: this.#options.dataDir, engine: { jupyter } });
  }
}

/** An environment is named by its directory, or by its interpreter. */
function hostIn(place: string): string {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true ? path.join(place, 'bin', 'python') : place;
}

function noToken(): ContainerConfigurationError {
  return new ContainerConfigurationError(
    'framework.execution.container has no jupyter_token for this server. One without a token would run anybody\u2019s code: start it with one and write jupyter_token: "${JUPYTER_TOKEN}", in the section that names the server.',
  );
}
