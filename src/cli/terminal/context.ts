import type { Lifetime } from './lifetime.ts';
import type { ZygoteProcess } from '../../engine/local/zygote/process.ts';
import type { OutputStream } from './output-stream.ts';

/** The process that a command runs in. */
export interface Context {
  readonly environment: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly lifetime: Lifetime;
  /** A Python process that was started before the command line was parsed. */
  readonly headStart?: ZygoteProcess | undefined;
}
