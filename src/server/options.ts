import { z } from 'zod';
import { parse } from '../config.ts';
import type { Host } from '../host/host.ts';
import type { HostOptions } from '../host/options.ts';
import { CeilingInput } from './access/ceiling/input.ts';

/** Where a server listens, and what it serves. */
export interface ServerOptions {
  /** The port to listen on. 0, the default, for one that is free. */
  readonly port?: number;
  /** The address to listen on; 127.0.0.1 by default. */
  readonly hostname?: string;
  /** Names that it is reached by, besides those of loopback and its address. */
  readonly publicHosts?: readonly string[];
  /** A domain: every name below it leads here. */
  readonly domain?: string;
  /** What it serves. It is not closed with the server. By default the server has a host of its own. */
  readonly host?: Host;
  /** The settings of its own host. Of these, `dataDir`, `artifactDays`, `log` and `logCode` hold for the server, too. */
  readonly hostOptions?: HostOptions;
  /** What requests may ask for; by default what sessions of the host have anyway. Only an admin with a key may ask for more. */
  readonly ceiling?: CeilingInput;
  /** The configuration file of the execution service; without one, all its code needs an approval. See docs/service-config.md. */
  readonly serviceConfig?: string;
  /** How long running code may take to end when the server is closed; 10 seconds by default. */
  readonly drainMs?: number;
  /** How long a run goes on when its client has left; 30 seconds by default. */
  readonly reattachMs?: number;
}

const HostName = z.hostname('must be the name of a host, without a scheme or a port');

const Options = z.strictObject({
  port: z.int().min(0).max(65_535).default(0),
  hostname: z.string().min(1).default('127.0.0.1'),
  publicHosts: z.array(HostName).readonly().default([]),
  domain: HostName.optional(),
  host: z.custom<Host>().optional(),
  hostOptions: z.custom<HostOptions>().default({}),
  ceiling: CeilingInput.default({}),
  serviceConfig: z.string().min(1).optional(),
  drainMs: z.int().nonnegative().default(10_000),
  reattachMs: z.int().nonnegative().default(30_000),
});
export type ParsedServerOptions = Readonly<z.infer<typeof Options>>;

export function parseServerOptions(options: ServerOptions): ParsedServerOptions {
  return parse(Options, options);
}
