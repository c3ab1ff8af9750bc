import type { StarterOptions } from './zygote/starter.ts';

export interface LocalEngineOptions extends StarterOptions {
  /** Called once Python has its configuration. While it gets ready, the caller can load other code. */
  readonly onLaunch?: () => void;
  /** Gives up starting. */
  readonly signal?: AbortSignal;
}
