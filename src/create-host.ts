/** Opens a host: of this machine, or on a server. */
import { findServer, type ServerAddress } from './config.ts';
import { VivariumError } from './errors.ts';
import type { Host } from './host/host.ts';
import type { HostOptions } from './host/options.ts';

/** A host on a server, which has settings of its own. */
export interface RemoteHostOptions extends ServerAddress {
  /** Aborting it gives up connecting. */
  readonly signal?: AbortSignal;
}

/**
 * Starts an engine and returns the host that owns it, or connects to the host of a server: the one with this `url`, or
 * else that of `VIVARIUM_URL`. The variable counts unless `engine` says where sessions live.
 */
export async function createHost(options: HostOptions | RemoteHostOptions = {}): Promise<Host> {
  const { url, key, signal, ...local } = options as Partial<RemoteHostOptions> & HostOptions;
  const isHere = url === undefined && local.engine !== undefined;
  const server = isHere ? undefined : findServer({ ...(url !== undefined && { url }), key });
  if (server === undefined) {
    if (key !== undefined) throw new VivariumError('CONFIG_INVALID', '`key` is for a server. Give its `url`, too.');
    const { LocalHost } = await import('./host/local/local-host.ts'); // a program needs one of the two
    return LocalHost.start({ ...local, ...(signal && { signal }) });
  }
  assertNone(local, url === undefined);
  const { connect } = await import('./remote/connect.ts');
  return connect(server.url, { key: server.key, signal });
}

/** A host for a part of Vivarium. `local` is how it is set up if it is of this machine. */
export function createUsualHost(local: HostOptions): Promise<Host> {
  return createHost(findServer({}) ?? local);
}

function assertNone(options: HostOptions, isFromEnvironment: boolean): void {
  const names = Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`\`${name}\``]));
  if (names.length === 0) return;
  const why = isFromEnvironment
    ? "VIVARIUM_URL names a server. Unset it, or pass `engine: 'local'` to run code on this machine"
    : 'the host of a server has its own. Leave them out, and give sessions what they need with `createSession`';
  throw new VivariumError(
    'CONFIG_INVALID',
    `These options are for a host of this machine: ${names.join(', ')}; ${why}.`,
  );
}
