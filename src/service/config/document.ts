import {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Document,
} from 'yaml';

/** One problem with the file, with its key and line. */
export interface ConfigProblem {
  readonly line?: number | undefined;
  readonly key?: string | undefined;
  readonly text: string;
}

/** A reference to an environment variable that is not set. Its key counts as left out. */
export interface UnsetVariable {
  readonly key: string;
  readonly variable: string;
  readonly line?: number | undefined;
}

export type Path = readonly PropertyKey[];

/** A YAML file with environment variables replaced in its values. It knows the line of every key. */
export class ConfigDocument {
  readonly problems: readonly ConfigProblem[];
  /** Keys whose values contain environment variables. Their values are text, even if they look like numbers. */
  readonly interpolated: ReadonlySet<string>;
  /** What is missing in the environment. Whether that matters depends on which keys are used. */
  readonly unset: readonly UnsetVariable[];
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;

  constructor(text: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    const problems: ConfigProblem[] = [...this.#document.errors, ...this.#document.warnings].map(
      ({ message, pos }) => ({
        line: this.#lines.linePos(pos[0]).line,
        text: message,
      }),
    );
    const interpolated = new Set<string>();
    const unset: UnsetVariable[] = [];
    if (problems.length === 0) this.#interpolate(environment, { problems, interpolated, unset });
    this.problems = problems;
    this.interpolated = interpolated;
    this.unset = unset;
  }

  /** The content as plain data. */
  content(): unknown {
    return this.#document.toJS() as unknown;
  }

  /** The line of a key. For a missing key, the line of the nearest section around it. */
  lineOf(path: Path): number | undefined {
    let node: unknown = this.#document.contents;
    let line: number | undefined;
    for (const step of path) {
      if (isAlias(node)) node = node.resolve(this.#document);
      if (isSeq(node)) node = node.items[Number(step)];
      else if (isMap(node)) {
        const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(step));
        if (pair === undefined) return line;
        line = this.#lineAt(pair.key) ?? line;
        node = pair.value;
        continue;
      } else return line;
      line = this.#lineAt(node) ?? line;
    }
    return line;
  }

  #lineAt(node: unknown): number | undefined {
    return isNode(node) && node.range ? this.#lines.linePos(node.range[0]).line : undefined;
  }

  #interpolate(
    environment: Readonly<Record<string, string | undefined>>,
    found: { problems: ConfigProblem[]; interpolated: Set<string>; unset: UnsetVariable[] },
  ): void {
    visit(this.#document, {
      Scalar: (position, node, ancestors) => {
        if (position === 'key' || typeof node.value !== 'string') return;
        const result = interpolate(node.value, environment);
        const key = keyNameOf([...ancestors, node], position);
        if ('problem' in result) found.problems.push({ line: this.#lineAt(node), key, text: result.problem });
        else if ('unset' in result) {
          found.unset.push({ line: this.#lineAt(node), key, variable: result.unset });
          node.value = null;
        } else {
          node.value = result.text === '' && result.hasReference ? null : result.text; // an empty variable counts as a missing value
          if (result.hasReference) found.interpolated.add(key);
        }
      },
    });
  }
}

/** The full key name of the last node on a path of nodes. */
function keyNameOf(nodes: readonly unknown[], position: unknown): string {
  const names = nodes.flatMap((node, index) => {
    if (isPair(node)) return [String(isScalar(node.key) ? node.key.value : node.key)];
    if (!isSeq(node)) return [];
    const next = nodes[index + 1];
    return [String(next === nodes.at(-1) ? position : node.items.indexOf(next))];
  });
  return names.join('.');
}

/** `$${` is a literal `${`. `${NAME:-default}` uses the default for an unset or empty variable, as a shell does. */
const REFERENCE = /\$\$\{|\$\{(?<name>[A-Za-z_]\w*)(?::-(?<fallback>[^{}]*))?\}|(?<broken>\$\{[^}]*\}?)/gu;

type Interpolation =
  | { readonly text: string; readonly hasReference: boolean }
  /** The name of a variable that is not set and has no default. */
  | { readonly unset: string }
  /** What is wrong with the text, for a message. */
  | { readonly problem: string };

/** Replaces environment variables in a text. Their values are not interpolated again. */
function interpolate(text: string, environment: Readonly<Record<string, string | undefined>>): Interpolation {
  let problem: string | undefined;
  let unset: string | undefined;
  let hasReference = false;
  const replaced = text.replaceAll(REFERENCE, (match: string, ...rest: unknown[]) => {
    const { name, fallback, broken } = rest.at(-1) as Record<string, string | undefined>;
    if (broken !== undefined)
      problem ??= `${JSON.stringify(broken)} is not a valid reference: write \${NAME}, \${NAME:-default}, or $\${ for the characters themselves`;
    if (name === undefined) return '${';
    hasReference = true;
    const value = environment[name];
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) unset ??= name;
    return value ?? match;
  });
  if (problem !== undefined) return { problem };
  return unset === undefined ? { text: replaced, hasReference } : { unset };
}
