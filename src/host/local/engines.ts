import path from 'node:path';
import type { Config } from '../../config.ts';
import type { Engine } from '../../engine/engine.ts';
import { startLocalEngine } from '../../engine/local/engine.ts';
import type { LocalEngineOptions } from '../../engine/local/options.ts';
import type { Environment } from '../../environment/environment.ts';
import { VivariumError } from '../../errors.ts';
import type { EngineChoice, JupyterAccess } from '../options.ts';
import { choosePython } from './python.ts';

export interface StartedEngine {
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

/** Callers from JavaScript may pass anything. */
function isJupyter(choice: unknown): choice is { readonly jupyter: JupyterAccess } {
  return typeof choice === 'object' && choice !== null && Object.keys(choice).join() === 'jupyter';
}

export interface LocalStartOptions extends Pick<LocalEngineOptions, 'onLaunch'> {
  readonly headStart?: LocalEngineOptions['headStart'] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Starts the engine of this machine on the Python that the configuration asks for. */
export async function startLocal(
  config: Config,
  { headStart, signal, ...options }: LocalStartOptions,
): Promise<StartedEngine> {
  const environment = await choosePython(config, signal);
  const { python, cacheDir } = environment;
  const given = { ...(headStart && { headStart }), ...(signal && { signal }), ...options };
  return { environment, engine: await startLocalEngine({ config, python, cacheDir, ...given }) };
}

/** The Jupyter engine is loaded only where it is used. What libraries the server's Python has is not known. */
async function connectToJupyter(
  access: JupyterAccess,
  { dataDir }: Config,
  signal: AbortSignal | undefined,
): Promise<StartedEngine> {
  const { startJupyterEngine } = await import('../../engine/jupyter/engine.ts');
  const engine = await startJupyterEngine({ ...access, ...(signal && { signal }) });
  const python = access.kernelName ?? 'the default kernel';
  const cacheDir = path.join(dataDir, 'cache');
  return { engine, environment: { python, version: '3', source: 'remote', libraries: {}, missing: [], cacheDir } };
}
