import type { Lifetime } from './lifetime.ts';
import type { ZygoteProcess } from '../../engine/local/zygote/process.ts';
import type { Output } from './output.ts';

/** What a command knows of the process it runs in. */
export interface Context {
  readonly environment: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly lifetime: Lifetime;
  /** A Python that is starting while the command is still being read. */
  readonly headStart?: ZygoteProcess | undefined;
}
