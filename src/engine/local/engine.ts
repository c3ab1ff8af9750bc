import type { Engine, HostSession } from '../engine.ts';
import type { LocalEngineOptions } from './options.ts';
import { takePremises } from './premises/premises.ts';
import { ZygoteLauncher } from './zygote/launcher.ts';

/** Starts the engine that runs sessions on this machine: its Python first, and the engine itself is loaded meanwhile. */
export async function startLocalEngine(options: LocalEngineOptions): Promise<Engine<HostSession>> {
  await using stack = new AsyncDisposableStack();
  const premises = await takePremises(options.config.dataDir, options.cacheDir, stack);
  const launcher = stack.use(new ZygoteLauncher(options, premises));
  launcher.prepare();
  options.onLaunch?.();
  const { LocalEngine } = await import('./local-engine.ts');
  const engine = new LocalEngine(options, { premises, launcher, owned: stack.move() });
  try {
    await engine.warmUp(options.signal);
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}
