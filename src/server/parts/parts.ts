import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Host } from '../../host/host.ts';
import type { Logger } from '../../log.ts';
import type { Admission } from '../access/admission.ts';
import type { Client } from '../access/client.ts';
import type { CommandRegistry } from '../runs/command-registry.ts';
import type { Metrics } from '../ops/metrics.ts';
import type { RunRegistry } from '../runs/run-registry.ts';
import type { ClientTools } from '../tools/client-tools.ts';
import type { TaskRegistry } from '../tasks/task-registry.ts';

/** What the server works with. Routes get the host of a request from its context, where it shows what the client may see. */
export interface ServerParts {
  readonly host: Host;
  readonly admission: Admission;
  readonly runs: RunRegistry;
  readonly commands: CommandRegistry;
  readonly tools: ClientTools;
  readonly tasks: TaskRegistry;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Of Vivarium. */
  readonly version: string;
  /** Whether the server is being stopped and takes no more requests. */
  readonly isClosing: () => boolean;
}

/** What Hono knows about a request. */
export interface ServerEnv {
  Bindings: HttpBindings;
  Variables: {
    readonly client: Client;
    /** The host as this client sees it. */
    readonly host: Host;
    readonly requestId: string;
  };
}

export type ServerContext = Context<ServerEnv>;
