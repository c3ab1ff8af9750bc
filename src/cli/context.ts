import type { Lifetime } from './lifetime.ts';
import type { Output } from './output.ts';

/** What a command knows of the process it runs in. */
export interface Context {
  readonly environment: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly lifetime: Lifetime;
}
