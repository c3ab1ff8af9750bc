/** The packages of a command's session: what the user names, and what the header of a program asks for. */
import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import type { Session } from '../../host/session.ts';
import type { PackagePolicy } from '../../config.ts';
import { normalName, readRequirement } from '../../requirement/requirement.ts';
import { dependenciesInHeader } from '../../requirement/script-header.ts';

export interface PackageFlags {
  /** Requirements to install. */
  readonly with?: readonly string[];
  /** `none`, `any`, or names with commas between them. */
  readonly packages?: string;
  readonly packageIndex?: readonly string[];
}

export function policyOf({ packages = 'none' }: PackageFlags): PackagePolicy {
  if (packages === 'none' || packages === 'any') return packages;
  return packages.split(',').map((name) => name.trim());
}

interface Order {
  readonly flags: PackageFlags;
  /** The program that the session is for, if it is for one. */
  readonly code: string;
  readonly host: Host;
  readonly signal: AbortSignal;
}

/** Installs what was named, and what the program asks for in its header, if the user allows its programs that. */
export async function installFor(session: Session, { flags, code, host, signal }: Order): Promise<void> {
  const given = flags.with ?? [];
  const asked = dependenciesInHeader(code);
  if (given.length + asked.length === 0) return;
  const policy = policyOf(flags);
  const named = new Set(given.map(nameOf));
  const open = asked.filter((text) => !named.has(nameOf(text)));
  const wanted = open.filter((text) => mayInstall(policy, nameOf(text)));
  const there = new Set(Object.keys(host.environment.libraries).map(normalName));
  const refused = open.filter((text) => !wanted.includes(text) && !there.has(nameOf(text))).map(nameOf);
  if (refused.length > 0) {
    throw new VivariumError(
      'PACKAGE_REFUSED',
      `The header of the program asks for ${refused.join(', ')}, which is not installed. Allow it with --packages ${refused.join(',')} or --packages any.`,
    );
  }
  if (given.length + wanted.length > 0) await session.install([...given, ...wanted], { signal });
}

function mayInstall(policy: PackagePolicy, name: string): boolean {
  return policy === 'any' || (policy !== 'none' && policy.some((one) => normalName(one) === name));
}

/** Something that is no requirement passes here: installing it says what is wrong. */
function nameOf(text: string): string {
  const requirement = readRequirement(text);
  return typeof requirement === 'string' ? text : requirement.name;
}
