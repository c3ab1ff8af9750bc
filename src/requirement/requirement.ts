/** A package that is wanted, as PEP 508 writes it: a name, perhaps with extras, versions and a marker. */
export interface Requirement {
  /** In the one spelling by which names are compared. */
  readonly name: string;
  readonly text: string;
}

const MAX_CHARS = 500;
const MAX_REQUIREMENTS = 500;
const NAME = String.raw`[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?`;
const VERSION = String.raw`(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9][\w.*+!-]*`;
const VERSIONS = String.raw`\(?\s*${VERSION}(?:\s*,\s*${VERSION})*\s*,?\s*\)?`;
const EXTRAS = String.raw`\[\s*(?:${NAME}(?:\s*,\s*${NAME})*)?\s*\]`;
const MARKER = String.raw`;[\w\s.'"()<>=!~,+*-]*`;
const REQUIREMENT = new RegExp(`^(${NAME})\\s*(?:${EXTRAS})?\\s*(?:${VERSIONS})?\\s*(?:${MARKER})?$`, 'u');

/** Reads a requirement. Returns what is wrong with it as text. It never names a place to fetch something from. */
export function readRequirement(given: string): Requirement | string {
  const text = given.trim();
  if (text.length > MAX_CHARS) return `A requirement is longer than ${MAX_CHARS} characters.`;
  if (/\p{Cc}/u.test(text)) return 'A requirement must be on one line.'; // the next line would be another one, or an option
  const shown = JSON.stringify(text.slice(0, 100));
  if (text.startsWith('-')) return `${shown} is an option; only names of packages can be installed.`;
  if (/:\/\/|\s@\s|^(?:git|hg|svn|bzr)\+/u.test(text))
    return `${shown} names an address; packages come from the configured index alone. Use the name of the package.`;
  if (/^[./~]|[\\/]|\.(?:whl|zip|gz|tgz)$/u.test(text))
    return `${shown} is a path; packages come from the configured index alone. Import files of the workspace directly.`;
  const [, name] = REQUIREMENT.exec(text) ?? [];
  if (name !== undefined) return { name: normalName(name), text };
  return `${shown} is not a requirement; write a name, such as polars, polars==1.* or "polars>=1,<3".`;
}

/** Reads requirements that came in one list. Returns what is wrong with the first wrong one. */
export function readRequirements(given: readonly string[]): Requirement[] | string {
  if (given.length > MAX_REQUIREMENTS) return `More than ${MAX_REQUIREMENTS} requirements cannot be installed at once.`;
  const read: Requirement[] = [];
  for (const text of given) {
    const requirement = readRequirement(text);
    if (typeof requirement === 'string') return requirement;
    read.push(requirement);
  }
  return read;
}

/** The lines of a requirements file, without comments and the hashes that pip would compare. */
export function linesOfRequirements(text: string): string[] {
  return text
    .replace(/^\uFEFF/u, '')
    .replaceAll(/\\\r?\n/gu, ' ')
    .split(/\r?\n/u)
    .map((line) => line.replace(/(?:^|\s)#.*$/u, '').trim())
    .map((line) => (line.startsWith('-') ? line : line.replace(/\s+--.*$/u, '')))
    .filter((line) => line !== '');
}

/** Names that differ in case, or in dots, dashes and underscores, are the same. */
export function normalName(name: string): string {
  return name.replaceAll(/[-_.]+/gu, '-').toLowerCase();
}
