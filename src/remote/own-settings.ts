import type { HostAccess } from '../host/host.ts';

const NAMES = ['mounts', 'network', 'env', 'packages'] as const satisfies readonly (keyof HostAccess)[];

type Settings = { readonly [Name in (typeof NAMES)[number]]?: unknown };

/**
 * The settings of a session without those that its host has anyway. Tools repeat what `host.access` says; a server that
 * hides where its mounts are and what its variables hold could not make sense of that.
 */
export function ownSettings<T extends Settings>(settings: T, access: HostAccess): T {
  const repeated = NAMES.filter((name) => name in settings && isSame(settings[name], access[name]));
  const own = Object.entries(settings).filter(([name]) => !repeated.some((one) => one === name));
  return Object.fromEntries(own) as T;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
