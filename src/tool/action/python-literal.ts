/** Reads a Python tuple from text: strings, numbers, True, False, None, and tuples and lists of these. */
export function readPythonTuple(text: string): readonly unknown[] | null {
  try {
    const reader = new Reader(text);
    const value = reader.readAll();
    // Models often forget the comma of a tuple with one item.
    return Array.isArray(value) ? value : text.trimStart().startsWith('(') ? [value] : null;
  } catch (error) {
    if (error instanceof NotLiteral) return null;
    throw error;
  }
}

class NotLiteral extends Error {}

const MAX_DEPTH = 50;
const SPACE = /(?:\s|#[^\n]*\n)*/y;
const NUMBER = /[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y;
const WORD = /True|False|None/y;
const STRING = /([rRuU]?)("""|'''|"|')/y;
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['True', true],
  ['False', false],
  ['None', null],
]);

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** One value, or several with commas between them: a tuple without brackets. */
  readAll(): unknown {
    const { items, hasComma } = this.#readItems('', 0);
    return hasComma ? items : items[0];
  }

  #read(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new NotLiteral();
    if (this.#take(/\(/y) !== null) {
      const { items, hasComma } = this.#readItems(')', depth + 1);
      return hasComma || items.length === 0 ? items : items[0];
    }
    if (this.#take(/\[/y) !== null) return this.#readItems(']', depth + 1).items;
    const word = this.#take(WORD);
    if (word !== null) return WORDS.get(word[0]);
    const number = this.#take(NUMBER);
    if (number !== null) return Number(number[0].replaceAll('_', ''));
    return this.#readStrings();
  }

  #readItems(end: string, depth: number): { readonly items: unknown[]; readonly hasComma: boolean } {
    const items: unknown[] = [];
    let hasComma = false;
    while (!this.#takeEnd(end)) {
      if (items.length > 0 && !hasComma) throw new NotLiteral();
      items.push(this.#read(depth));
      this.#skipSpace();
      const comma = this.#take(/,/y) !== null;
      if (!comma && !this.#isAt(end)) throw new NotLiteral();
      hasComma ||= comma;
    }
    return { items, hasComma };
  }

  /** Adjacent strings are one string. */
  #readStrings(): string {
    const parts: string[] = [];
    for (let opening = this.#take(STRING); opening !== null; opening = this.#take(STRING)) {
      const [, prefix = '', quote = ''] = opening;
      const body = this.#readUntil(quote);
      parts.push(/r/i.test(prefix) ? body : body.replaceAll(ESCAPE, unescape));
      this.#skipSpace();
    }
    if (parts.length === 0) throw new NotLiteral();
    return parts.join('');
  }

  #readUntil(quote: string): string {
    const start = this.#at;
    for (; this.#at < this.#text.length; this.#at += 1) {
      if (this.#text.startsWith(quote, this.#at)) {
        this.#at += quote.length;
        return this.#text.slice(start, this.#at - quote.length);
      }
      if (this.#text[this.#at] === '\\') this.#at += 1;
      else if (this.#text[this.#at] === '\n' && quote.length === 1) break;
    }
    throw new NotLiteral();
  }

  #takeEnd(end: string): boolean {
    this.#skipSpace();
    if (!this.#isAt(end)) return false;
    this.#at += end.length;
    return true;
  }

  /** An empty `end` means the end of the text. */
  #isAt(end: string): boolean {
    return end === '' ? this.#at === this.#text.length : this.#text.startsWith(end, this.#at);
  }

  #skipSpace(): void {
    this.#take(SPACE);
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found !== null) this.#at += found[0].length;
    return found;
  }
}

const ESCAPE = /\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|[^])/g;
const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

function unescape(whole: string, escaped: string): string {
  if (/^[xuU]./.test(escaped)) {
    const code = Number.parseInt(escaped.slice(1), 16);
    if (code > 0x10_ff_ff) throw new NotLiteral();
    return String.fromCodePoint(code);
  }
  if (/^[0-7]/.test(escaped)) return String.fromCodePoint(Number.parseInt(escaped, 8));
  return ESCAPES[escaped] ?? whole;
}
