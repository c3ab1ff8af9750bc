/** The host that a command works with: of this machine, or on a server. */
import path from 'node:path';
import { findServer, type Mount, type ServerAddress } from '../../config.ts';
import { createHost } from '../../create-host.ts';
import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import type { HostOptions, SessionOptions } from '../../host/options.ts';
import type { Context } from '../terminal/context.ts';
import { parseMount, type MachineFlags, type SessionFlags } from './flags.ts';

/** Undefined: the command uses this machine. */
export function serverOf(flags: Partial<SessionFlags>, environment: NodeJS.ProcessEnv): ServerAddress | undefined {
  const server = findServer(flags.url === undefined ? {} : { url: flags.url }, environment);
  if (server === undefined) return undefined;
  const here = { '--python': flags.python, '--isolation': flags.isolation, '--package-index': flags.packageIndex };
  const given = Object.entries(here).flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
  if (given.length === 0) return server;
  throw new VivariumError(
    'USAGE',
    `${given.join(', ')}: this is about this machine, but the session is opened on ${server.url}. Leave it out, or use this machine: leave out --url, and unset VIVARIUM_URL.`,
  );
}

/** Opens the host of a command. `local` is how it is set up if it is of this machine. */
export function openHost(
  flags: MachineFlags,
  local: HostOptions,
  { environment, lifetime: { signal } }: Pick<Context, 'environment' | 'lifetime'>,
): Promise<Host> {
  const server = serverOf(flags, environment);
  return createHost(server === undefined ? { ...local, engine: 'local', signal } : { ...server, signal });
}

/** What the host of this machine is started with, a session on a server is asked for. */
export function remoteSettings({ environment, timeoutMs, memoryMb }: Partial<SessionFlags>): SessionOptions {
  return {
    ...(environment !== undefined && { environment }),
    limits: { ...(timeoutMs !== undefined && { timeoutMs }), ...(memoryMb !== undefined && { memoryMb }) },
  };
}

/** On a server, the source is a path there. */
export function mountsOf({ mount = [] }: Pick<SessionFlags, 'mount'>, server: ServerAddress | undefined): Mount[] {
  if (server === undefined) return mount.map((text) => parseMount(text));
  return mount.map((text) => {
    const parsed = parseMount(text, { isElsewhere: true });
    if (path.isAbsolute(text)) return parsed;
    throw new VivariumError('USAGE', `--mount ${text}: a path of the server ${server.url} must be absolute.`);
  });
}
