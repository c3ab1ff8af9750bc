import type { Engine } from '../engine.ts';
import { createInstance } from './instance/instance.ts';
import type { LocalEngineOptions } from './options.ts';
import type { LocalSession } from './session.ts';
import { ZygoteStarter } from './zygote/starter.ts';

/** Starts the engine that runs sessions on this machine. Python starts first, and the engine's code is loaded meanwhile. */
export async function startLocalEngine(options: LocalEngineOptions): Promise<Engine<LocalSession>> {
  await using stack = new AsyncDisposableStack();
  const instance = await createInstance(options.config.dataDir, options.cacheDir, stack);
  const starter = stack.use(new ZygoteStarter(options, instance));
  starter.prepare();
  options.onLaunch?.();
  const { LocalEngine } = await import('./local-engine.ts');
  const engine = new LocalEngine(options, { instance, starter, owned: stack.move() });
  try {
    await engine.warmUp(options.signal);
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}
