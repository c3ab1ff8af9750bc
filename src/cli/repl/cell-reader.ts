export interface CellReaderOptions {
  /** True at a terminal. In a script a block ends where the next statement begins. */
  readonly blankLineEndsBlock: boolean;
}

/** Splits lines of Python into cells. */
export class CellReader {
  readonly #blankLineEndsBlock: boolean;
  #lines: string[] = [];

  constructor({ blankLineEndsBlock }: CellReaderOptions) {
    this.#blankLineEndsBlock = blankLineEndsBlock;
  }

  /** Whether a cell is incomplete. */
  get isPending(): boolean {
    return this.#lines.length > 0;
  }

  /** The cells that this line completes: the one before it, itself, both or none. */
  add(line: string): string[] {
    const cells: string[] = [];
    const isBlank = line.trim() === '';
    if (!this.isPending && isBlank) return cells;
    if (this.isPending && !this.#blankLineEndsBlock && beginsStatement(line) && needOf(this.#lines) === 'block') {
      cells.push(this.#take());
    }
    this.#lines.push(line);
    const need = needOf(this.#lines);
    const isOver = need === 'nothing' || (need !== 'rest' && isBlank && this.#blankLineEndsBlock);
    return isOver ? [...cells, this.#take()] : cells;
  }

  /** The incomplete cell with another line. */
  textWith(line: string): string {
    return [...this.#lines, line].join('\n');
  }

  /** The last cell, when there are no more lines. */
  finish(): string[] {
    return this.isPending ? [this.#take()] : [];
  }

  /** Discards the incomplete cell. */
  clear(): void {
    this.#lines = [];
  }

  #take(): string {
    const cell = this.#lines.join('\n');
    this.#lines = [];
    return cell;
  }
}

/** What a cell lacks. `rest`: a bracket, string or line is open. `definition`: it ends with a decorator. `block`: an indented line may follow. */
type Lack = 'nothing' | 'block' | 'definition' | 'rest';

function needOf(lines: readonly string[]): Lack {
  const scan = scanCode(lines.join('\n'));
  if (scan.isOpen) return 'rest';
  const last = scan.logicalLines.findLast((line) => line.trim() !== '') ?? '';
  if (last.startsWith('@')) return 'definition';
  return last.trimEnd().endsWith(':') || /^[ \t]/.test(last) ? 'block' : 'nothing';
}

/** Whether an unindented line starts a new statement, rather than continuing one as `else:` does. */
function beginsStatement(line: string): boolean {
  return /^[^\s#]/.test(line) && !/^(elif|else|except|finally)\b/.test(line);
}

interface CodeScan {
  readonly isOpen: boolean;
  /** Without comments and the contents of strings. Continued lines are joined. */
  readonly logicalLines: readonly string[];
}

const TOKEN = /(?<triple>'''|""")|(?<quote>['"])|#[^\n]*|(?<open>[([{])|(?<close>[)\]}])|\\\n|(?<newline>\n)/g;

function scanCode(code: string): CodeScan {
  const logicalLines: string[] = [];
  const token = new RegExp(TOKEN);
  let line = '';
  let depth = 0;
  let at = 0;
  for (let found = token.exec(code); found !== null; found = token.exec(code)) {
    line += code.slice(at, found.index);
    const { triple, quote, open, close, newline } = found.groups ?? {};
    const string = triple ?? quote;
    if (string !== undefined) {
      const end = endOfString(code, token.lastIndex, string);
      if (end === undefined) return { isOpen: true, logicalLines };
      token.lastIndex = end;
      line += '""';
    } else if (open !== undefined) {
      depth += 1;
      line += open;
    } else if (close !== undefined) {
      depth = Math.max(0, depth - 1);
      line += close; // or else `x[1:]` would seem to end with a colon
    } else if (newline !== undefined && depth === 0) {
      logicalLines.push(line);
      line = '';
    }
    at = token.lastIndex;
  }
  line += code.slice(at);
  const isContinued = line.endsWith('\\');
  return { isOpen: depth > 0 || isContinued, logicalLines: [...logicalLines, line] };
}

/** Where the string ends; undefined if it continues. A single-quoted string ends with its line, and Python reports the error. */
function endOfString(code: string, start: number, quote: string): number | undefined {
  for (let index = start; index < code.length; index += 1) {
    if (code[index] === '\\') {
      index += 1;
      if (index >= code.length) return undefined; // a backslash continues the string on the next line
    } else if (code.startsWith(quote, index)) return index + quote.length;
    else if (code[index] === '\n' && quote.length === 1) return index;
  }
  return quote.length === 1 ? code.length : undefined;
}
