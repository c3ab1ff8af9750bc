import { z } from 'zod';
import { Mount, Variables } from '../../config.ts';
import type { Isolation } from '../../execution/isolation.ts';
import type { Host } from '../../host/host.ts';
import type { SessionOptions } from '../../host/options.ts';

/** What of the host the sessions of a tool see and reach. Nothing, unless it is given here or to the engine. */
export type AccessOptions = Pick<SessionOptions, 'mounts' | 'network' | 'environment'>;

/** These options in the schema of a tool's own. */
export const accessShape = {
  mounts: z.array(Mount).optional(),
  network: z.boolean().optional(),
  environment: Variables.optional(),
};

export type Access = Host['access'];
type Given = { readonly [K in keyof Access]?: Access[K] | undefined };

/** What a tool was given, else what its engine gives; and with it what the tool itself needs. */
export function resolveAccess(
  given: Given,
  { access }: Pick<Host, 'access'>,
  own: Partial<Pick<Access, 'mounts' | 'environment'>> = {},
): Access {
  return {
    mounts: [...(given.mounts ?? access.mounts), ...(own.mounts ?? [])],
    network: given.network ?? access.network,
    environment: { ...(given.environment ?? access.environment), ...own.environment },
  };
}

type Walls = Pick<Isolation, 'level' | 'files' | 'network'>;

/** What confines sessions of a tool: the walls of its engine, with the door to the network as the tool has it. */
export function isolationOf(
  { isolation: { level, files } }: { readonly isolation: Walls },
  { network }: Pick<Access, 'network'>,
): Walls {
  const isOpen = network || level === 'none' || level === 'jupyter';
  return { level, files, network: isOpen ? 'host' : 'none' };
}

/** For results: which walls there were, where they are not the usual ones. */
export function weakWalls({ level }: Pick<Isolation, 'level'>): { readonly isolation?: Isolation['level'] } {
  return level === 'namespaces' ? {} : { isolation: level };
}
