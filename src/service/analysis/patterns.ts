import type { Use } from './facts.ts';

/** How sure it is that a use is what a pattern means. */
export type Match = 'certain' | 'possible';

/** A name that reads or writes: `epics.caput`, `epics.PV().put`, `epics.PV().value=`, `write_channel`, `.set_value`. */
export class Pattern {
  readonly text: string;
  readonly #isStore: boolean;
  readonly #parts: readonly string[];
  readonly #root: string;
  readonly #last: string;
  readonly #isFunction: boolean;

  constructor(text: string) {
    this.text = text;
    this.#isStore = text.endsWith('=');
    const body = text.replace(/=$/u, '');
    this.#parts = partsOf(body);
    this.#root = this.#parts[0] ?? '';
    this.#last = this.#parts.at(-1) ?? '';
    this.#isFunction = !body.includes('()');
  }

  /** `roots` are the libraries that the code imports; `?` among them when it imports something that is not known. */
  match({ name, how }: Use, roots: ReadonlySet<string>): Match | undefined {
    if ((how === 'stored') !== this.#isStore) return undefined;
    const parts = partsOf(name);
    if (this.#parts.length === 1 || this.#root === '') {
      const isMember = parts.length > 1 || this.#root !== '';
      return parts.at(-1) === this.#last && isMember ? 'certain' : undefined;
    }
    if (isSame(this.#parts, parts)) return 'certain';
    if (parts.at(-1) !== this.#last || this.#isStore) return undefined; // every class may have a `value` to set
    if (parts.length === 1) return this.#isFunction ? 'certain' : undefined; // a name that the session was given
    const isOfUnknown = parts[0] === '?' && (roots.has(this.#root) || roots.has('?'));
    return isOfUnknown || (parts[0] === this.#root && name.includes('()')) ? 'possible' : undefined;
  }
}

/** A method is the same whether it is taken from an instance or from its class. */
function partsOf(name: string): string[] {
  return name.replaceAll('()', '').split('.');
}

function isSame(pattern: readonly string[], parts: readonly string[]): boolean {
  return pattern.length === parts.length && pattern.every((part, index) => part === '*' || part === parts[index]);
}
