import type { Configuration, ExecutionMode } from './schema.ts';
import path from 'node:path';
import { defaultStoragePath } from '../../storage/storage.ts';

/** The Jupyter server of an execution mode. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly token: string | undefined;
}

/** Settings of the mode take precedence over those of the section around it. */
export function endpointOf({ framework }: Configuration, mode: ExecutionMode): Endpoint {
  const { read_only, write_access, ...common } = framework.execution.container;
  const own = { read_only, write_access }[mode];
  const host = own.jupyter_host ?? common.jupyter_host;
  const port = own.jupyter_port ?? common.jupyter_port;
  const scheme = own.jupyter_scheme ?? common.jupyter_scheme;
  const isBareIpv6 = host.includes(':') && !host.startsWith('[');
  return {
    host,
    port,
    url: `${scheme}://${isBareIpv6 ? `[${host}]` : host}:${port}`,
    token: own.jupyter_token ?? (host === common.jupyter_host ? common.jupyter_token : undefined), // a token is only for its own server
  };
}

export interface BaseDirectories {
  readonly dataDir: string;
  /** What relative paths in the configuration are relative to. */
  readonly baseDir: string;
}

/** The URL or path of the database. */
export function storageAddress({ langgraph }: Configuration, { dataDir, baseDir }: BaseDirectories): string {
  const { storage_url: given } = langgraph;
  if (given === undefined) return defaultStoragePath(dataDir);
  return /^[a-z][a-z0-9+.-]+:/i.test(given) ? given : path.resolve(baseDir, given);
}
