import { VivariumError } from '../../../errors.ts';
import { inLine } from '../../../text/in-line.ts';
import type { PackageIndex } from './source.ts';

const MAX_CHARS = 900;

/** What went wrong when packages were resolved, as the resolver says it. */
export interface ResolveFailure {
  readonly problem: string;
  readonly isUnreachable: boolean;
  /** The names that were asked for. */
  readonly names: readonly string[];
  readonly index: PackageIndex;
  readonly pythonVersion: string;
}

/** An error that names the package, what is the matter with it, and what can be done. */
export function describeFailure(failure: ResolveFailure): VivariumError {
  return new VivariumError('PACKAGE_UNAVAILABLE', messageOf(failure));
}

function messageOf({ problem, isUnreachable, names, index, pythonVersion }: ResolveFailure): string {
  const text = problem.replaceAll(/\s+/gu, ' ');
  const where = placesOf(index);
  if (isUnreachable) {
    const why = text.split(' cause: ').at(-1) ?? '';
    return `The package index cannot be reached (${where}): ${short(why)}. Check the network and pip's settings on the host, or name another index with the option \`packageIndexes\`.`;
  }
  const [, unknown] = /\b([\w.-]+) was not found in the (?:package registry|provided)/u.exec(text) ?? [];
  if (unknown !== undefined) {
    const unused = index.unused === null ? '' : ` ${index.unused}`;
    return `There is no package "${unknown}" on ${where}${dependencyOf(unknown, names)}. Check the name: that of a package can differ from that of its module (scikit-learn is imported as sklearn).${unused}`;
  }
  const [, asked, held] = /Because you require (\S+) and ([\w.-]+==[^\s,]+), we can/u.exec(text) ?? [];
  if (held !== undefined)
    return `${asked ?? ''} cannot be installed: ${held} is there already, and what is there stays as it is. Use that version, or a session on another environment.`;
  const [, built] = /(?:Wheels are required for|we only found wheels for) `([\w.-]+)`/u.exec(text) ?? [];
  if (built !== undefined && !text.includes(' depends on '))
    return `"${built}" has no wheel for Python ${pythonVersion} on this machine${dependencyOf(built, names)}: it comes as source code, and nothing is built here. Ask for another version that has one, or use another package.`;
  const [, none] = /there (?:is|are) no versions? of ([^\s,]+)/u.exec(text) ?? [];
  if (none !== undefined && names.some((name) => none.startsWith(name)))
    return `There is no version ${none} on ${where}. Ask for other versions, or leave them out.`;
  return `The packages do not fit together, or do not fit what is there already, which stays as it is: ${short(text.replace(/^.*?cause: /u, ''))} Ask for other versions, or leave them out.`;
}

function dependencyOf(name: string, names: readonly string[]): string {
  return names.includes(name) ? '' : ` (${names.join(', ')} needs it)`;
}

function placesOf({ urls, directories }: PackageIndex): string {
  const places = [...urls.map(withoutUser), ...directories];
  return places.length === 0 ? 'no index is configured' : places.join(', ');
}

/** An address without the credentials that it may hold. */
export function withoutUser(url: string): string {
  return url.replace(/\/\/[^/@]*@/u, '//');
}

function short(text: string): string {
  return inLine(withoutUser(text), MAX_CHARS);
}
