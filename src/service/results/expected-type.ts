/** The types that a request expects, as people write them: `dict`, `list[float]`, `pandas.DataFrame`, `Optional[str] | int`. */

export type ExpectedType =
  | { readonly kind: 'any' }
  | { readonly kind: 'union'; readonly members: readonly ExpectedType[] }
  | {
      readonly kind: 'class';
      /** A canonical name of a built-in type, such as `int` or `none`, or the full name of a class. */
      readonly name: string;
      /** Types of the items, or of keys and items. Empty if not specified. */
      readonly parameters: readonly ExpectedType[];
    };

const MAX_CHARS = 500;
const MAX_DEPTH = 10;

/** Canonical names by spelling, in lower case. */
const NAMES: Readonly<Record<string, string>> = {
  ...spellings('any', 'any object json value'),
  ...spellings('none', 'none nonetype null'),
  ...spellings('str', 'str string text'),
  ...spellings('int', 'int integer'),
  ...spellings('float', 'float double'),
  ...spellings('number', 'number numeric'),
  ...spellings('bool', 'bool boolean'),
  ...spellings('dict', 'dict dictionary mapping'),
  ...spellings('list', 'list'),
  ...spellings('tuple', 'tuple'),
  ...spellings('set', 'set'),
  ...spellings('sequence', 'sequence array iterable'),
  ...spellings('builtins.bytes', 'bytes'),
  ...spellings('builtins.complex', 'complex'),
  ...spellings('builtins.frozenset', 'frozenset'),
  ...spellings('pandas.DataFrame', 'pandas.dataframe pd.dataframe dataframe'),
  ...spellings('pandas.Series', 'pandas.series pd.series series'),
  ...spellings('numpy.ndarray', 'numpy.ndarray np.ndarray ndarray numpy.array np.array'),
  ...spellings('datetime', 'datetime datetime.datetime timestamp pandas.timestamp pd.timestamp'),
  ...spellings('datetime.date', 'date datetime.date'),
  ...spellings('datetime.timedelta', 'timedelta datetime.timedelta'),
  ...spellings('pathlib.PurePath', 'path pathlib.path'),
};

/** Undefined if the text is not a type. Such a result must exist, but its type is not checked. */
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
  // A lower-case word is a description. A dot or a capital letter means that it names a class.
  return /[A-Z.]/.test(written) ? { kind: 'class', name: written, parameters: [] } : undefined;
}

function oneOf(names: readonly string[], parameters: readonly ExpectedType[]): ExpectedType {
  return joined(names.map((name) => ({ kind: 'class', name, parameters })));
}

function joined(members: readonly ExpectedType[]): ExpectedType {
  const [first] = members;
  return first !== undefined && members.length === 1 ? first : { kind: 'union', members };
}

function spellings(name: string, words: string): Record<string, string> {
  return Object.fromEntries(words.split(' ').map((spelling) => [spelling, name]));
}
