/** What sessions of a tool can see and reach of the machine. */
import { realpath, stat } from 'node:fs/promises';
import { z } from 'zod';
import { Mount, Network, Variables, type PackagePolicy } from '../config.ts';
import { VivariumError } from '../errors.ts';
import type { Isolation } from '../execution/isolation.ts';
import type { Host } from '../host/host.ts';
import type { SessionOptions } from '../host/options.ts';

/** What sessions of a tool can see and reach of the machine. An option that is left out is as the host has it. */
export type AccessOptions = Pick<SessionOptions, 'mounts' | 'network' | 'env'>;

/** The same options, to be included in the schema of a tool. */
export const accessShape = {
  mounts: z.array(Mount).optional(),
  network: Network.optional(),
  env: Variables.optional(),
};

export type Access = Host['access'];
export type GivenAccess = { readonly [K in Exclude<keyof Access, 'packages'>]?: Access[K] | undefined };

/** Combines what a tool was given, else what its host gives, with what the tool itself needs. */
export function resolveAccess(
  given: GivenAccess,
  { access }: Pick<Host, 'access'>,
  own: Partial<Pick<Access, 'mounts' | 'env'>> = {},
): Access {
  return {
    mounts: [...(given.mounts ?? access.mounts), ...(own.mounts ?? [])],
    network: given.network ?? access.network,
    env: { ...(given.env ?? access.env), ...own.env },
    packages: access.packages,
  };
}

/** The part of an isolation that tools describe to models. */
export type DescribedIsolation = Pick<Isolation, 'level' | 'files' | 'network'> & {
  /** What programs may install although they reach no index themselves. */
  readonly packages?: PackagePolicy;
};

/** What confines sessions of a tool: the isolation of its host, with the network as the tool has it. */
export function isolationOf(
  { isolation: { level, files } }: { readonly isolation: DescribedIsolation },
  { network, packages }: Pick<Access, 'network'> & Partial<Pick<Access, 'packages'>>,
): DescribedIsolation {
  const isOpen = network === true || level === 'none' || level === 'jupyter';
  const reach = isOpen ? 'host' : network === false ? 'none' : 'list';
  return { level, files, network: reach, ...(packages !== undefined && packages !== 'none' && { packages }) };
}

/** A field for results: the isolation level, where it is weaker than the usual one. */
export function weakIsolation({ level }: Pick<Isolation, 'level'>): { readonly isolation?: Isolation['level'] } {
  return level === 'namespaces' ? {} : { isolation: level };
}

/** Resolves links: sessions see a directory of the machine at its own path, and no part of that may be a link. */
export async function resolveDirectory(option: string, directory: string): Promise<string> {
  const resolved = await realpath(directory).catch(() => null);
  const isUsable = resolved !== null && resolved !== '/' && (await stat(resolved)).isDirectory();
  if (isUsable) return resolved;
  const reason = resolved === '/' ? 'is the root directory' : 'does not exist or is not a directory';
  throw new VivariumError('CONFIG_INVALID', `The ${option} ${directory} ${reason}. Name an existing directory.`);
}
