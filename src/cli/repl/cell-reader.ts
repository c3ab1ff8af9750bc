/** Finds out, line by line, where one cell of typed Python ends and the next begins. */

export interface CellReaderOptions {
  /** People end a block with a blank line; in a script a block ends where the next statement begins. */
  readonly blankLineEndsBlock: boolean;
}

export class CellReader {
  readonly #blankLineEndsBlock: boolean;
  #lines: string[] = [];

  constructor({ blankLineEndsBlock }: CellReaderOptions) {
    this.#blankLineEndsBlock = blankLineEndsBlock;
  }

  /** Whether a cell has begun and more of it is awaited. */
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

  /** What is left when no more lines come. */
  finish(): string[] {
    return this.isPending ? [this.#take()] : [];
  }

  /** Forgets what was typed so far. */
  clear(): void {
    this.#lines = [];
  }

  #take(): string {
    const cell = this.#lines.join('\n');
    this.#lines = [];
    return cell;
  }
}

/** `rest`: a bracket, string or line is open. `definition`: what is decorated. `block`: an indented line may follow. */
type Need = 'nothing' | 'block' | 'definition' | 'rest';

function needOf(lines: readonly string[]): Need {
  const scan = scanCode(lines.join('\n'));
  if (scan.isOpen) return 'rest';
  const last = scan.logicalLines.findLast((line) => line.trim() !== '') ?? '';
  if (last.startsWith('@')) return 'definition';
  return last.trimEnd().endsWith(':') || /^[ \t]/.test(last) ? 'block' : 'nothing';
}

/** Whether a line at the margin is a new statement, not a further part of a compound one. */
function beginsStatement(line: string): boolean {
  return /^[^\s#]/.test(line) && !/^(elif|else|except|finally)\b/.test(line);
}

interface Scan {
  readonly isOpen: boolean;
  /** Without comments and without what stands in strings; lines that belong together are one. */
  readonly logicalLines: readonly string[];
}

const TOKEN = /(?<triple>'''|""")|(?<quote>['"])|#[^\n]*|(?<open>[([{])|(?<close>[)\]}])|\\\n|(?<newline>\n)/g;

function scanCode(code: string): Scan {
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
    } else if (open !== undefined) depth += 1;
    else if (close !== undefined) depth = Math.max(0, depth - 1);
    else if (newline !== undefined && depth === 0) {
      logicalLines.push(line);
      line = '';
    }
    at = token.lastIndex;
  }
  line += code.slice(at);
  const isContinued = line.endsWith('\\');
  return { isOpen: depth > 0 || isContinued, logicalLines: [...logicalLines, line] };
}

/** Where the string ends; undefined when it goes on. One with single quotes ends with its line, which Python will refuse. */
function endOfString(code: string, start: number, quote: string): number | undefined {
  for (let index = start; index < code.length; index += 1) {
    if (code[index] === '\\') {
      index += 1;
      if (index >= code.length) return undefined; // the line is continued inside of the string
    } else if (code.startsWith(quote, index)) return index + quote.length;
    else if (code[index] === '\n' && quote.length === 1) return index;
  }
  return quote.length === 1 ? code.length : undefined;
}
