import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { Engine, EngineSession, OpenOptions } from '../engine.ts';
import { readKernelSources } from '../python-files.ts';
import { Kernel, type KernelOptions } from './kernel/kernel.ts';
import { JupyterServer } from './server/server.ts';
import { JupyterSession } from './session.ts';
import { JupyterWorkspace } from './server/workspace.ts';

const PROBE_TIMEOUT_MS = 5000;

/** How a Jupyter server is reached. */
export interface JupyterEngineOptions {
  /** Such as `http://localhost:8888`, with the base path if the server has one, and without the token. */
  readonly url: string;
  /** Left out for a server that asks for none. */
  readonly token?: string;
  /** The kernel that sessions run in, or several, of which the first that the server has is used; by default that of the server. */
  readonly kernelName?: string | readonly string[];
  /** Gives up starting. */
  readonly signal?: AbortSignal;
}

const KernelName = z.string().min(1);

const EngineOptions = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
    .refine((url) => !hasSecrets(url), 'must not hold a token, a name or a password; give the token as `token`'),
  token: z.string().min(1, 'must be the token of the server; leave it out if the server has none').optional(),
  kernelName: z.union([KernelName, z.array(KernelName).min(1)]).optional(),
});

const ServerVersion = z.object({ version: z.string() });
const KernelSpecs = z.object({
  default: z.string(),
  kernelspecs: z.record(z.string(), z.object({ spec: z.object({ language: z.string().optional() }) })),
});

/** An engine that says which of the kernels that it may use it found. */
export interface KernelEngine extends Engine {
  readonly kernelName: string;
}

/** Starts the engine whose sessions are kernels of a Jupyter server, which must answer, accept the token and have the kernel. */
export async function startJupyterEngine({ signal, ...input }: JupyterEngineOptions): Promise<KernelEngine> {
  const { url, token, kernelName } = parse(EngineOptions, input);
  const server = new JupyterServer(new URL(url), token);
  await server.ask(ServerVersion, 'GET', 'api', { timeoutMs: PROBE_TIMEOUT_MS, signal });
  const name = await chooseKernel(server, kernelName === undefined ? [] : [kernelName].flat(), signal);
  return new JupyterEngine(server, name, await readKernelSources());
}

class JupyterEngine implements KernelEngine {
  readonly isolation: Isolation;
  readonly kernelName: string;
  readonly #server: JupyterServer;
  readonly #sources: Readonly<Record<string, string>>;
  readonly #sessions = new Set<Promise<JupyterSession>>();
  #closing: Promise<void> | null = null;

  constructor(server: JupyterServer, kernelName: string, sources: Readonly<Record<string, string>>) {
    this.#server = server;
    this.kernelName = kernelName;
    this.#sources = sources;
    this.isolation = describeIsolation(server);
  }

  async open(options: OpenOptions): Promise<EngineSession> {
    if (this.#closing !== null) throw new VivariumError('ENGINE_CLOSED', 'The engine is closed. Start a new one.');
    refuseImpossible(options);
    const opening = this.#open(options, () => this.#sessions.delete(opening));
    this.#sessions.add(opening);
    opening.catch(() => this.#sessions.delete(opening)); // the call that waits for it reports it
    return opening;
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const closings = [...this.#sessions].map(async (opening) => {
      const session = await opening.catch(() => undefined); // the call that asked for it reports it
      await session?.close();
    });
    const failures = (await Promise.allSettled(closings)).flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    if (failures.length > 0) throw new AggregateError(failures, 'sessions could not be closed');
  }

  async #open(given: OpenOptions, onClosed: () => void): Promise<JupyterSession> {
    const { id, limits, env, signal, network, secrets = {} } = given;
    if (typeof network === 'object' || Object.keys(secrets).length > 0) throw unlisted();
    const directory = `vivarium-${randomBytes(8).toString('hex')}`;
    await using stack = new AsyncDisposableStack();
    const workspace = new JupyterWorkspace(this.#server, directory, limits.fileMb * 2 ** 20);
    stack.defer(() => workspace.destroy());
    await workspace.create();
    const options: KernelOptions = { name: this.kernelName, directory, env, sources: this.#sources };
    const kernel = await Kernel.start(this.#server, options, signal);
    stack.move(); // the session owns both now
    return new JupyterSession({
      id,
      isolation: this.isolation,
      workspace,
      kernel,
      graceMs: limits.graceMs,
      timeoutMs: limits.timeoutMs,
      startKernel: () => Kernel.start(this.#server, options),
      onClosed,
    });
  }
}

function unlisted(): VivariumError {
  return new VivariumError(
    'SANDBOX_UNAVAILABLE',
    'A list of hosts cannot be enforced for kernels of a Jupyter server: they have the network that the server has. Limit the network of the server, and leave out network and secrets.',
  );
}

async function chooseKernel(server: JupyterServer, wanted: readonly string[], signal?: AbortSignal): Promise<string> {
  const answer = await server.call('GET', 'api/kernelspecs', { signal });
  if (answer.status === 401 || answer.status === 403) {
    throw new VivariumError(
      'JUPYTER_REFUSED',
      `The Jupyter server at ${server.address} ${server.hasToken ? 'refuses the token' : 'asks for a token, and none was given'} ` +
        `(HTTP ${answer.status}). Give the token it was started with; \`jupyter server list\` shows it where the server runs.`,
    );
  }
  const { default: standard, kernelspecs } = server.parse(KernelSpecs, 'GET api/kernelspecs', answer);
  const isPython = ([, { spec }]: (typeof entries)[number]): boolean => (spec.language ?? 'python') === 'python';
  const entries = Object.entries(kernelspecs);
  const names = entries.filter(isPython).map(([known]) => known);
  const choices = wanted.length === 0 ? [standard] : wanted;
  const name = choices.find((choice) => names.includes(choice));
  if (name !== undefined) return name;
  throw new VivariumError(
    'CONFIG_INVALID',
    `The Jupyter server at ${server.address} has no Python kernel ${choices.map((choice) => `"${choice}"`).join(' or ')}. It has ${names.join(', ') || 'none'}; ` +
      'choose one of them with `kernelName`, or install ipykernel on the server.',
  );
}

/** An option that cannot be honoured is refused rather than ignored. */
function refuseImpossible({ mounts, limits, readOnly }: OpenOptions): void {
  const wish = [
    ...(mounts.length > 0 ? ['show directories of this machine (`mounts`)'] : []),
    ...(limits.cpuMs === null ? [] : ['limit processor time (`cpuMs`)']),
    ...(limits.cpus === null ? [] : ['be held to some processors (`cpus`)']),
    ...(readOnly ? ['be kept from writing (`readOnly`)'] : []),
  ][0];
  if (wish === undefined) return;
  throw new VivariumError(
    'CONFIG_INVALID',
    `A session on a Jupyter server cannot ${wish}. Leave that out, or use the local engine.`,
  );
}

function describeIsolation({ address, hasToken }: JupyterServer): Isolation {
  return {
    level: 'jupyter',
    uid: 'shared',
    files: 'host',
    network: 'host',
    proc: 'host',
    memory: [],
    processes: [],
    cpus: [],
    disk: [],
    seccomp: false,
    landlock: 0,
    missing: [
      `walls: kernels have the files, the network and the memory that the Jupyter server at ${address} gives them; confine the server`,
      ...(hasToken
        ? []
        : [
            `token: the Jupyter server at ${address} does not ask for a token, so anyone who can reach it can run code; set one`,
          ]),
    ],
  };
}

function hasSecrets(url: string): boolean {
  const { username, password, search, hash } = new URL(url);
  return [username, password, search, hash].some((part) => part !== '');
}
