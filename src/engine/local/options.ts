import type { StarterOptions } from './zygote/starter.ts';

export interface LocalEngineOptions extends StarterOptions {
  /** Gives up starting. */
  readonly signal?: AbortSignal;
}
