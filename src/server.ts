/** The HTTP server; see docs/server.md. */
export { startServer } from './server/server.ts';
export type { Server } from './server/server.ts';
export type { ServerOptions } from './server/options.ts';
export type { CeilingInput } from './server/access/ceiling/input.ts';
