import type { Use } from './facts.ts';

/** How certain it is that a use matches a pattern. */
export type Match = 'certain' | 'possible';

/** A set of name patterns: `epics.caput`, `epics.PV().put`, `epics.PV().value=`, `write_channel`, `PV().put`, `.set_value`. */
export class PatternSet {
  /** Indexed by the last part (`*` matches any), because code may use thousands of names. */
  readonly #patterns = new Map<string, Pattern[]>();

  constructor(texts: readonly string[]) {
    for (const pattern of texts.map(parsePattern)) {
      const last = pattern.parts.at(-1) ?? '';
      this.#patterns.set(last, [...(this.#patterns.get(last) ?? []), pattern]);
    }
  }

  /** `roots` are the libraries that the code imports. They include `?` if an import is unknown. */
  match(use: Use, roots: ReadonlySet<string>): Match | undefined {
    const parts = partsOf(use.name);
    const candidates = [...(this.#patterns.get(parts.at(-1) ?? '') ?? []), ...(this.#patterns.get('*') ?? [])];
    const matches = candidates
      .filter(({ isStore }) => isStore === (use.how === 'stored'))
      .map((pattern) => matchOne(pattern, { name: use.name, parts, roots }));
    return matches.includes('certain') ? 'certain' : matches.find((match) => match !== undefined);
  }
}

interface Pattern {
  readonly parts: readonly string[];
  readonly isStore: boolean;
  readonly isFunction: boolean;
  /** A class in any module. */
  readonly isOfAnyModule: boolean;
}

function parsePattern(text: string): Pattern {
  const body = text.replace(/=$/u, '');
  return {
    parts: partsOf(body),
    isStore: text.endsWith('='),
    isFunction: !body.includes('()'),
    isOfAnyModule: /^\w+\(\)\./u.test(body),
  };
}

/** The caller has checked that the last parts match. */
function matchOne(
  { parts: wanted, isStore, isFunction, isOfAnyModule }: Pattern,
  { name, parts, roots }: { name: string; parts: readonly string[]; roots: ReadonlySet<string> },
): Match | undefined {
  const root = wanted[0] ?? '';
  if (isOfAnyModule)
    return `.${name}`.includes(`.${root}()`) && isSame(wanted, parts.slice(-wanted.length)) ? 'certain' : undefined;
  if (root === '') return parts.length > 1 ? 'certain' : undefined; // a method of any object
  if (wanted.length === 1 || isSame(wanted, parts)) return 'certain';
  if (isStore || wanted.at(-1) === '*') return undefined; // any class may have an attribute of that name
  if (parts.length === 1) return isFunction ? 'certain' : undefined; // a name that the session provides
  const isOfUnknown = parts[0] === '?' && (roots.has(root) || roots.has('?'));
  return isOfUnknown || (parts[0] === root && name.includes('()')) ? 'possible' : undefined;
}

/** A method counts as the same on an instance and on its class. */
function partsOf(name: string): string[] {
  return name.replaceAll('()', '').split('.');
}

function isSame(wanted: readonly string[], parts: readonly string[]): boolean {
  return wanted.length === parts.length && wanted.every((part, index) => part === '*' || part === parts[index]);
}
