import path from 'node:path';
import type { Config } from '../../config.ts';
import { AwaitedEngine } from '../../engine/awaited.ts';
import type { Engine } from '../../engine/engine.ts';
import { startLocalEngine } from '../../engine/local/engine.ts';
import type { LocalEngineOptions } from '../../engine/local/options.ts';
import type { Environment } from '../../environment/environment.ts';
import { readPackageIndex } from '../../environment/package-index.ts';
import { ensureUv } from '../../environment/uv.ts';
import { VivariumError } from '../../errors.ts';
import { Once } from '../../once.ts';
import { keepAlive } from '../../process-life.ts';
import type { EngineChoice, JupyterAccess } from '../options.ts';
import { choosePython } from './python.ts';

/** An engine, with what has to be kept while it runs. */
export interface StartedEngine extends AsyncDisposable {
  readonly engine: Engine;
  /** The Python that its sessions run on. */
  readonly environment: Environment;
}

/** Starts the engine that was chosen. */
export async function startEngine(
  choice: EngineChoice,
  config: Config,
  signal: AbortSignal | undefined,
): Promise<StartedEngine> {
  if (choice === 'local') return startLocal(config, { signal });
  if (isJupyter(choice)) return connectToJupyter(choice.jupyter, config, signal);
  throw new VivariumError('CONFIG_INVALID', "`engine` must be 'local' or { jupyter: { url, token } }.");
}

/** Starts the engine of a named environment. Nothing is kept warm in it: it is there only while sessions use it. */
export async function startNamed(name: string, choice: EngineChoice, config: Config): Promise<StartedEngine> {
  if (choice !== 'local') throw notOnJupyter();
  const { python: _, ...rest } = config;
  return startLocal({ ...rest, environment: name, poolSize: 0 }, {});
}

/** Callers from JavaScript may pass anything. */
function isJupyter(choice: unknown): choice is { readonly jupyter: JupyterAccess } {
  return typeof choice === 'object' && choice !== null && Object.keys(choice).join() === 'jupyter';
}

export interface LocalStartOptions extends Pick<LocalEngineOptions, 'onLaunch' | 'resolver'> {
  readonly headStart?: LocalEngineOptions['headStart'] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Starts the engine of this machine on the Python that the configuration asks for. */
export async function startLocal(
  config: Config,
  { headStart, signal, ...options }: LocalStartOptions,
): Promise<StartedEngine> {
  using stack = new DisposableStack();
  const environment = await hold(config, stack, signal);
  const { python, cacheDir } = environment;
  const given = { ...(headStart && { headStart }), ...(signal && { signal }), ...options };
  const { dataDir, packageIndexes } = config;
  const index = new Once(() => readPackageIndex(packageIndexes));
  const packageSource = {
    findUv: (stop?: AbortSignal) => ensureUv({ dataDir, python, signal: stop }),
    readIndex: () => index.get(),
  };
  const engine = await keepAlive(startLocalEngine({ config, python, cacheDir, packageSource, ...given }));
  return started(new AwaitedEngine(engine), environment, stack.move());
}

/** A named environment cannot be removed while an engine uses it. */
async function hold(config: Config, stack: DisposableStack, signal: AbortSignal | undefined): Promise<Environment> {
  const { environment: name, dataDir } = config;
  if (name === undefined) return choosePython(config, signal);
  const { holdNamed } = await import('../../environment/named/record.ts'); // rarely needed
  return stack.use(await holdNamed(dataDir, name)).environment;
}

function started(engine: Engine, environment: Environment, owned?: Disposable): StartedEngine {
  return {
    engine,
    environment,
    async [Symbol.asyncDispose]() {
      using _ = owned; // let go of when the engine is closed
      await engine.close();
    },
  };
}

/** The Jupyter engine is loaded only where it is used. What libraries the server's Python has is not known. */
async function connectToJupyter(
  access: JupyterAccess,
  { dataDir, environment }: Config,
  signal: AbortSignal | undefined,
): Promise<StartedEngine> {
  if (environment !== undefined) throw notOnJupyter();
  const { startJupyterEngine } = await import('../../engine/jupyter/engine.ts');
  const kernels = await startJupyterEngine({ ...access, ...(signal && { signal }) });
  const engine = new AwaitedEngine(kernels);
  const python = kernels.kernelName;
  const cacheDir = path.join(dataDir, 'cache');
  return started(engine, { python, version: '3', source: 'remote', libraries: {}, missing: [], cacheDir });
}

/** Which packages a kernel has is up to its server. */
function notOnJupyter(): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    'Named environments are for sessions of this machine. On a Jupyter server choose a kernel instead: engine.jupyter.kernelName.',
  );
}
