/** What requests may ask for. Everything here is pure: it compares what was asked for with what is allowed. */
import path from 'node:path';
import type { Limits, Mount, MountInput, NetworkInput, NetworkSetting, PackagePolicy } from '../../../config.ts';
import { VivariumError } from '../../../errors.ts';
import { linesOfRequirements, normalName, readRequirement } from '../../../requirement/requirement.ts';
import { firstUncovered } from './network-cover.ts';

/** What requests may ask for at most. */
export interface Ceiling {
  /** A requested mount must be one of these or lie inside of one, and be writable only if that is. */
  readonly mounts: readonly Mount[];
  /** A requested network must be covered by it. */
  readonly network: NetworkSetting;
  /** What may be installed, by programs and by their owner. */
  readonly packages: PackagePolicy;
  /** No requested limit may be higher. */
  readonly limits: Limits;
}

/** The part of the options of sessions and runs that a ceiling is about. */
export interface Asked {
  readonly mounts?: readonly MountInput[];
  readonly network?: NetworkInput;
  readonly packages?: PackagePolicy;
  readonly limits?: Partial<Limits>;
  /** Of one run. */
  readonly timeoutMs?: number;
}

/** The same options, with the hosts that the ceiling denies denied as well. Throws if they ask for more than is allowed. */
export function keepWithin<T extends Asked>(asked: T, ceiling: Ceiling | null): T {
  if (ceiling === null) return asked;
  const { mounts, network, packages, limits, timeoutMs } = asked;
  if (mounts !== undefined) checkMounts(mounts, ceiling);
  if (packages !== undefined) checkPolicy(packages, ceiling);
  for (const [name, value] of Object.entries(limits ?? {})) checkLimit(name as keyof Limits, value, ceiling);
  if (timeoutMs !== undefined) checkLimit('timeoutMs', timeoutMs, ceiling);
  return network === undefined ? asked : { ...asked, network: keepNetworkWithin(network, ceiling) };
}

/** Every source must be allowed or lie inside of one that is. Links are another matter; see mount-sources.ts. */
export function checkMounts(mounts: readonly MountInput[], ceiling: Ceiling): void {
  for (const { source, writable = false } of mounts) {
    const around = ceiling.mounts.filter((allowed) => holdsPath(allowed.source, source));
    if (around.length === 0)
      throw refusal(`The mount of ${JSON.stringify(source)} is not allowed`, allowedMounts(ceiling));
    if (writable && !around.some((allowed) => allowed.writable)) {
      throw refusal(`A writable mount of ${JSON.stringify(source)} is not allowed`, allowedMounts(ceiling));
    }
  }
}

/** What a caller installs for a session: names, or the text of a requirements file. What is no requirement is refused later. */
export function checkRequirements(requirements: string | readonly string[], ceiling: Ceiling | null): void {
  if (ceiling === null) return;
  const lines = typeof requirements === 'string' ? linesOfRequirements(requirements) : requirements;
  const read = lines.map((line) => readRequirement(line));
  checkPolicy(
    read.flatMap((one) => (typeof one === 'string' ? [] : [one.name])),
    ceiling,
  );
}

function checkPolicy(packages: PackagePolicy, ceiling: Ceiling): void {
  if (packages === 'none' || ceiling.packages === 'any') return;
  const allowed = ceiling.packages === 'none' ? [] : ceiling.packages;
  const names = new Set(allowed.map(normalName));
  const extra = packages === 'any' ? 'any package' : packages.find((name) => !names.has(normalName(name)));
  if (extra === undefined) return;
  throw refusal(
    `Installing ${extra} is not allowed`,
    names.size === 0 ? 'none is' : `allowed are ${allowed.join(', ')}`,
  );
}

function checkLimit(name: keyof Limits, value: number | null | undefined, ceiling: Ceiling): void {
  const most = ceiling.limits[name];
  if (value === undefined || most === null || (value !== null && value <= most)) return;
  throw refusal(`The limit \`${name}\` cannot be ${value ?? 'left out (null)'}`, `up to ${most} is allowed`);
}

function keepNetworkWithin(network: NetworkInput, ceiling: Ceiling): NetworkInput {
  const allowed = ceiling.network;
  if (network === false || allowed === true) return network;
  if (allowed === false) throw refusal('A network is not allowed', 'sessions of this server have none');
  const list = `allowed are ${allowed.allow.join(', ') || 'no hosts'}`;
  if (network === true) throw refusal('The network of the machine is not allowed', list);
  const extra = firstUncovered(network.allow, allowed.allow);
  if (extra !== undefined) throw refusal(`The host ${JSON.stringify(extra)} is not allowed`, list);
  return { ...network, deny: [...(network.deny ?? []), ...allowed.deny] };
}

function holdsPath(outer: string, inner: string): boolean {
  const steps = path.relative(path.resolve(outer), path.resolve(inner));
  return steps === '' || (steps !== '..' && !steps.startsWith(`..${path.sep}`));
}

function allowedMounts({ mounts }: Ceiling): string {
  if (mounts.length === 0) return 'none is; the server has to be started with --allow-mount';
  const texts = mounts.map(({ source, writable }) => `${source} (${writable ? 'writable' : 'read-only'})`);
  return `allowed are ${texts.join(', ')}, and what is inside of them`;
}

function refusal(what: string, allowed: string): VivariumError {
  return new VivariumError('FORBIDDEN', `${what}: ${allowed}.`);
}
