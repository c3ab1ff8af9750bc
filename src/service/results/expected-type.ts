/** The types that a request expects, as people write them: `dict`, `list[float]`, `pandas.DataFrame`, `Optional[str] | int`. */

export type ExpectedType =
  | { readonly kind: 'any' }
  | { readonly kind: 'union'; readonly members: readonly ExpectedType[] }
  | {
      readonly kind: 'class';
      /** One of our words for built-in types, such as `int` or `none`, or the full name of a class. */
      readonly name: string;
      /** Of the items, or of keys and items; empty when nothing is said of them. */
      readonly parameters: readonly ExpectedType[];
    };

const MAX_CHARS = 500;
const MAX_DEPTH = 10;

/** Other spellings of what is looked up by one name. Most are taken in any case. */
const NAMES: Readonly<Record<string, string>> = {
  ...spelled('any', 'any object json value'),
  ...spelled('none', 'none nonetype null'),
  ...spelled('str', 'str string text'),
  ...spelled('int', 'int integer'),
  ...spelled('float', 'float double'),
  ...spelled('number', 'number numeric'),
  ...spelled('bool', 'bool boolean'),
  ...spelled('dict', 'dict dictionary mapping'),
  ...spelled('list', 'list'),
  ...spelled('tuple', 'tuple'),
  ...spelled('set', 'set'),
  ...spelled('sequence', 'sequence array iterable'),
  ...spelled('builtins.bytes', 'bytes'),
  ...spelled('builtins.complex', 'complex'),
  ...spelled('builtins.frozenset', 'frozenset'),
  ...spelled('pandas.DataFrame', 'pandas.dataframe pd.dataframe dataframe'),
  ...spelled('pandas.Series', 'pandas.series pd.series series'),
  ...spelled('numpy.ndarray', 'numpy.ndarray np.ndarray ndarray numpy.array np.array'),
  ...spelled('datetime', 'datetime datetime.datetime timestamp pandas.timestamp pd.timestamp'),
  ...spelled('datetime.date', 'date datetime.date'),
  ...spelled('datetime.timedelta', 'timedelta datetime.timedelta'),
  ...spelled('pathlib.PurePath', 'path pathlib.path'),
};

/** Undefined for words that are no type: such a result is only looked for, not at. */
export function parseExpectedType(text: string): ExpectedType | undefined {
  if (text.length > MAX_CHARS) return undefined;
  const tokens = text.match(/[A-Za-z_][\w.]*|\.\.\.|\S/g) ?? [];
  const parser = new TypeParser(tokens);
  const type = parser.union(0);
  return parser.isAtEnd ? type : undefined;
}

class TypeParser {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  union(depth: number): ExpectedType | undefined {
    const members: ExpectedType[] = [];
    do {
      const member = this.#one(depth);
      if (member === undefined) return undefined;
      members.push(member);
    } while (this.#take('|'));
    return joined(members);
  }

  #one(depth: number): ExpectedType | undefined {
    const written = this.#tokens[this.#at];
    if (written === undefined || depth > MAX_DEPTH || !/^[A-Za-z_]/.test(written)) return undefined;
    this.#at += 1;
    const parameters = this.#take('[') ? this.#parameters(depth + 1) : [];
    return parameters && named(written.replace(/^(?:typing|t|collections\.abc|builtins)\./, ''), parameters);
  }

  #parameters(depth: number): ExpectedType[] | undefined {
    const parameters: ExpectedType[] = [];
    do {
      if (this.#take('...')) continue;
      const parameter = this.union(depth);
      if (parameter === undefined) return undefined;
      parameters.push(parameter);
    } while (this.#take(','));
    return this.#take(']') ? parameters : undefined;
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }
}

function named(written: string, parameters: readonly ExpectedType[]): ExpectedType | undefined {
  if (written === 'Union') return joined(parameters);
  if (written === 'Optional') return joined([...parameters, { kind: 'class', name: 'none', parameters: [] }]);
  const known = NAMES[written.toLowerCase()];
  if (known === 'any') return { kind: 'any' };
  if (known === 'sequence') return oneOf(['list', 'tuple', 'numpy.ndarray', 'pandas.Series'], parameters);
  if (known !== undefined) return { kind: 'class', name: known, parameters };
  // A word in small letters is a description; what has a dot or a capital names a class.
  return /[A-Z.]/.test(written) ? { kind: 'class', name: written, parameters: [] } : undefined;
}

function oneOf(names: readonly string[], parameters: readonly ExpectedType[]): ExpectedType {
  return joined(names.map((name) => ({ kind: 'class', name, parameters })));
}

function joined(members: readonly ExpectedType[]): ExpectedType {
  const [first] = members;
  return first !== undefined && members.length === 1 ? first : { kind: 'union', members };
}

function spelled(name: string, spellings: string): Record<string, string> {
  return Object.fromEntries(spellings.split(' ').map((spelling) => [spelling, name]));
}
