import type { Config } from '../config.ts';
import type { Engine } from '../engine/engine.ts';
import { startLocalEngine } from '../engine/local/engine.ts';
import type { LocalEngineOptions } from '../engine/local/options.ts';
import type { Environment } from '../environment/environment.ts';
import { choosePython } from './python.ts';

/** An engine that is ready, and the Python that its sessions run on. */
export interface Started {
  readonly engine: Engine;
  readonly environment: Environment;
}

export interface StartOptions extends Pick<LocalEngineOptions, 'onLaunch'> {
  readonly headStart?: LocalEngineOptions['headStart'] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Starts the engine of this machine on the Python that the configuration asks for. */
export async function startHere(config: Config, { headStart, signal, ...options }: StartOptions): Promise<Started> {
  const environment = await choosePython(config, signal);
  const { python, cacheDir } = environment;
  const launch = { config, python, cacheDir, ...(headStart && { headStart }), ...(signal && { signal }) };
  return { environment, engine: await startLocalEngine({ ...launch, ...options }) };
}
