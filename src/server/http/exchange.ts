import type { HttpBindings } from '@hono/node-server';

/** A request and its answer, as Node has them. A context of Hono is one. */
export interface Exchange {
  readonly env: HttpBindings;
}
