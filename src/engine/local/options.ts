import type { Config } from '../../config.ts';
import type { ZygoteProcess } from './zygote/process.ts';

export interface LocalEngineOptions {
  readonly config: Config;
  readonly python: string;
  readonly cacheDir: string;
  /** A process for the first zygote that was started already; it is used if it fits, and else ended. */
  readonly headStart?: ZygoteProcess;
  /** Called when Python has its configuration and gets ready: the time to load other code. */
  readonly onLaunch?: () => void;
  readonly signal?: AbortSignal;
}
