import type { Use } from './facts.ts';

/** How sure it is that a use is what a pattern means. */
export type Match = 'certain' | 'possible';

/** Names that read or write: `epics.caput`, `epics.PV().put`, `epics.PV().value=`, `write_channel`, `PV().put`, `.set_value`. */
export class PatternSet {
  /** By their last part, `*` for those that take any: code may use thousands of names. */
  readonly #patterns = new Map<string, Pattern[]>();

  constructor(texts: readonly string[]) {
    for (const pattern of texts.map(parsePattern)) {
      const last = pattern.parts.at(-1) ?? '';
      this.#patterns.set(last, [...(this.#patterns.get(last) ?? []), pattern]);
    }
  }

  /** `roots` are the libraries that the code imports; `?` among them when it imports something that is not known. */
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
  /** Of a class that any module may have. */
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

/** The last parts are the same, or the pattern takes any. */
function matchOne(
  { parts: wanted, isStore, isFunction, isOfAnyModule }: Pattern,
  { name, parts, roots }: { name: string; parts: readonly string[]; roots: ReadonlySet<string> },
): Match | undefined {
  const root = wanted[0] ?? '';
  if (isOfAnyModule)
    return `.${name}`.includes(`.${root}()`) && isSame(wanted, parts.slice(-wanted.length)) ? 'certain' : undefined;
  if (root === '') return parts.length > 1 ? 'certain' : undefined; // a method of whatever object
  if (wanted.length === 1 || isSame(wanted, parts)) return 'certain';
  if (isStore || wanted.at(-1) === '*') return undefined; // every class may have a `value` to set
  if (parts.length === 1) return isFunction ? 'certain' : undefined; // a name that the session was given
  const isOfUnknown = parts[0] === '?' && (roots.has(root) || roots.has('?'));
  return isOfUnknown || (parts[0] === root && name.includes('()')) ? 'possible' : undefined;
}

/** A method is the same whether it is taken from an instance or from its class. */
function partsOf(name: string): string[] {
  return name.replaceAll('()', '').split('.');
}

function isSame(wanted: readonly string[], parts: readonly string[]): boolean {
  return wanted.length === parts.length && wanted.every((part, index) => part === '*' || part === parts[index]);
}
