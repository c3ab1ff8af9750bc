import { once } from 'node:events';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import type { LogEntry } from '../../log.ts';
import type { ServerOptions } from '../../server/options.ts';
import { startServer } from '../../server/server.ts';
import { configOf, networkOf, type MachineFlags, type NetworkFlags } from '../session/flags.ts';
import { policyOf } from '../session/packages.ts';
import type { Context } from '../terminal/context.ts';

export interface ServeFlags extends MachineFlags, NetworkFlags {
  readonly port?: number;
  readonly host?: string;
  readonly publicHost?: readonly string[];
  readonly domain?: string;
  readonly allowMount?: readonly string[];
  readonly packages?: string;
  readonly packageIndex?: readonly string[];
  readonly timeoutMs?: number;
  readonly memoryMb?: number;
  readonly maxSessions?: number;
  readonly poolSize?: number;
  readonly idleMs?: number;
  readonly config?: string;
  readonly drainMs?: number;
  readonly reattachMs?: number;
  readonly log?: boolean;
  readonly logCode?: boolean;
}

const DEFAULT_PORT = 8000;

/** Serves until it is stopped. */
export async function serve(flags: ServeFlags, context: Context): Promise<number> {
  const { stdout, stderr, lifetime } = context;
  await using server = await startServer(optionsOf(flags, context));
  lifetime.expectStop();
  await stdout.line(introduce(server.url));
  if (!lifetime.signal.aborted) await once(lifetime.signal, 'abort');
  await stderr.line('stopping: waiting for running code to end');
  await server.close();
  return 0;
}

function optionsOf(flags: ServeFlags, { environment, stderr, lifetime }: Context): ServerOptions {
  const { preload: _, poolSize: __, ...config } = configOf(flags, environment);
  const { port = DEFAULT_PORT, maxSessions, poolSize, idleMs, drainMs, reattachMs, logCode = false } = flags;
  const log = (entry: LogEntry): void =>
    void stderr.line(JSON.stringify({ time: new Date().toISOString(), ...entry })).catch(() => undefined);
  return {
    port,
    ...(flags.host !== undefined && { hostname: flags.host }),
    ...(flags.publicHost && { publicHosts: flags.publicHost }),
    ...(flags.domain !== undefined && { domain: flags.domain }),
    ...(flags.config !== undefined && { serviceConfig: path.resolve(flags.config) }),
    ...(drainMs !== undefined && { drainMs }),
    ...(reattachMs !== undefined && { reattachMs }),
    ceiling: ceilingOf(flags),
    hostOptions: {
      ...config,
      ...(maxSessions !== undefined && { maxSessions }),
      ...(poolSize !== undefined && { poolSize }),
      ...(idleMs !== undefined && { idleMs }),
      ...((flags.log === true || logCode) && { log, logCode }),
      signal: lifetime.signal,
    },
  };
}

function ceilingOf(flags: ServeFlags): NonNullable<ServerOptions['ceiling']> {
  const { allowMount, allowNetwork, allowHost, denyHost, packages } = flags;
  const asksForNetwork = allowNetwork === true || allowHost !== undefined || denyHost !== undefined;
  return {
    ...(allowMount && { mounts: allowMount.map(readAllowedMount) }),
    ...(asksForNetwork && { network: networkOf(flags) }),
    ...(packages !== undefined && { packages: policyOf({ packages }) }),
  };
}

/** `PATH` or `PATH:rw`. Where it appears in a session is up to the request. */
function readAllowedMount(text: string): { source: string; target: string; writable: boolean } {
  const [, source = '', mode] = /^(.+?)(?::(ro|rw))?$/s.exec(text) ?? [];
  if (source === '') throw new VivariumError('USAGE', `Cannot read --allow-mount ${text}. Write PATH or PATH:rw.`);
  const place = path.resolve(source);
  return { source: place, target: place, writable: mode === 'rw' };
}

function introduce(url: string): string {
  return `Vivarium listens on ${url} (what it can do: ${url}/docs)

try it   curl ${url}/v1/runs -H 'content-type: application/json' -d '{"code": "1 + 1"}'
or       const host = await createHost({ url: '${url}' }); // TypeScript
stop it  Ctrl-C, or kill ${process.pid}`;
}
