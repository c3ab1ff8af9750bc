import { z } from 'zod';
import { parse } from '../config.ts';
import type { Host } from '../host/host.ts';

/** How a server is reached. */
export interface ConnectOptions {
  /** One of its keys (`vivarium keys add`), if it has any. */
  readonly key?: string | undefined;
  /** Aborting it gives up connecting. */
  readonly signal?: AbortSignal | undefined;
}

const Options = z.strictObject({
  url: z
    .url({ protocol: /^https?$/u, error: 'must be an address that begins with http:// or https://' })
    .transform((text) => new URL(text))
    .refine(
      ({ username, password }) => username === '' && password === '',
      'must not have a password in it; give `key`',
    )
    .refine(({ search, hash }) => search === '' && hash === '', 'must end with the path, without "?" and "#"'),
  key: z
    .string()
    .regex(/^[\x21-\x7e]{1,1000}$/u, 'must be a key of the server, without spaces')
    .optional(),
  signal: z.instanceof(AbortSignal).optional(),
});

/**
 * Connects to a Vivarium server (`vivarium serve`). What it returns is used as a host of this machine is; closing it
 * leaves the sessions where they are.
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Host> {
  const { url: address, key, signal } = parse(Options, { ...options, url });
  const { RemoteHost } = await import('./host.ts'); // the schemas of all answers cost time, and most programs do without
  return RemoteHost.connect(address, key, signal);
}
