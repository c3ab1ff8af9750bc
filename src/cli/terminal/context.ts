import type { Lifetime } from './lifetime.ts';
import type { ZygoteProcess } from '../../engine/local/zygote/process.ts';
import type { Output } from './output.ts';

/** The process that a command runs in. */
export interface Context {
  readonly environment: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly lifetime: Lifetime;
  /** A Python process that was started before the command line was parsed. */
  readonly headStart?: ZygoteProcess | undefined;
}
