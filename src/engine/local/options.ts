import type { PackageSource } from './packages/source.ts';
import type { GateOptions } from './gate/gate.ts';
import type { StarterOptions } from './zygote/starter.ts';

export interface LocalEngineOptions extends StarterOptions, GateOptions {
  /** Called once Python has its configuration. While it gets ready, the caller can load other code. */
  readonly onLaunch?: () => void;
  /** Where packages come from. Without it nothing can be installed. */
  readonly packageSource?: PackageSource;
  /** Gives up starting. */
  readonly signal?: AbortSignal;
}
