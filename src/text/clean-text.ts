export interface CleanOptions {
  /** Shows each line as a terminal would: after the last carriage return, and with backspaces applied. */
  readonly finalLines?: boolean;
}

/** Removes terminal sequences and keeps all other characters. Takes linear time for any text. */
export function escapeAnsi(text: string, { finalLines = false }: CleanOptions = {}): string {
  const plain = withoutSequences(text);
  return finalLines ? settleLines(plain) : plain;
}

const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const ESC = 0x1b;
const FIRST_C1 = 0x80;
const LAST_C1 = 0x9f;
const CSI = 0x9b;
const ST = 0x9c;
const OSC = 0x9d;
/** Device control, start of string, operating system command, privacy message, application program command. */
const STRINGS: ReadonlySet<number> = new Set([0x90, 0x98, OSC, 0x9e, 0x9f]);
/** ESC and a character stand for the control character that is higher by this much. */
const ESCAPED_C1 = 0x40;

function withoutSequences(text: string): string {
  const kept: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length;) {
    const end = endOfSequence(text, at);
    if (end === at) {
      at += 1;
      continue;
    }
    if (at > start) kept.push(text.slice(start, at));
    start = end;
    at = end;
  }
  return start === 0 ? text : kept.join('') + text.slice(start);
}

/** The end of the sequence that begins at `at`; `at` itself if there is none. */
function endOfSequence(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === ESC) return endOfEscape(text, at + 1);
  if (code < FIRST_C1 || code > LAST_C1) return at;
  // These characters are usually damaged text. Only a complete sequence is removed.
  if (code === CSI) return endOfParameters(text, at + 1) ?? at;
  if (!STRINGS.has(code)) return at;
  const { end, isTerminated } = endOfString(text, at + 1, code === OSC);
  return isTerminated ? end : at;
}

function endOfEscape(text: string, at: number): number {
  const code = text.charCodeAt(at) + ESCAPED_C1;
  if (code === CSI) return endOfControl(text, at + 1);
  if (!STRINGS.has(code)) return endOfShort(text, at);
  const { end, isTerminated } = endOfString(text, at + 1, code === OSC);
  if (isTerminated) return end;
  const newline = text.slice(at, end).indexOf('\n'); // truncated: removes at most the rest of its line
  return newline === -1 ? end : at + newline;
}

/** Parameters, then intermediates, then the final character. A damaged sequence ends where it is damaged. */
function endOfControl(text: string, at: number): number {
  const end = skipWhile(text, skipWhile(text, at, 0x30, 0x3f), 0x20, 0x2f);
  return isBetween(text.charCodeAt(end), 0x40, 0x7e) ? end + 1 : end;
}

/** Same, but requires a parameter and no intermediates; else null. */
function endOfParameters(text: string, at: number): number | null {
  const end = skipWhile(text, at, 0x30, 0x3f);
  return end > at && isBetween(text.charCodeAt(end), 0x40, 0x7e) ? end + 1 : null;
}

/** ESC, intermediates if any, and a final character. */
function endOfShort(text: string, at: number): number {
  const end = skipWhile(text, at, 0x20, 0x2f);
  return isBetween(text.charCodeAt(end), 0x30, 0x7e) ? end + 1 : end;
}

/** A string ends with ST, or with BEL if it is an OSC. Another sequence ends it without a terminator. */
function endOfString(text: string, from: number, isOsc: boolean): { end: number; isTerminated: boolean } {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === ST || (code === BEL && isOsc)) return { end: at + 1, isTerminated: true };
    if (code === ESC && text[at + 1] === '\\') return { end: at + 2, isTerminated: true };
    const isBreak = code === ESC || code === CAN || code === SUB || code === CSI || STRINGS.has(code);
    if (isBreak) return { end: at, isTerminated: false };
  }
  return { end: text.length, isTerminated: false };
}

function skipWhile(text: string, from: number, low: number, high: number): number {
  let at = from;
  while (isBetween(text.charCodeAt(at), low, high)) at += 1;
  return at;
}

function isBetween(code: number, low: number, high: number): boolean {
  return code >= low && code <= high;
}

function settleLines(text: string): string {
  if (!text.includes('\r') && !text.includes('\b')) return text;
  return text.replaceAll('\r\n', '\n').split('\n').map(settleLine).join('\n');
}

function settleLine(line: string): string {
  const last = line.split('\r').findLast((state) => state !== '') ?? '';
  return line === last && !last.includes('\b') ? line : overstrike(last).trimEnd();
}

/** A backspace goes back one character, and the following text overwrites it. */
function overstrike(line: string): string {
  if (!line.includes('\b')) return line;
  const cells: string[] = [];
  let column = 0;
  for (const character of line) {
    if (character === '\b') {
      column = Math.max(0, column - 1);
    } else {
      cells[column] = character;
      column += 1;
    }
  }
  return cells.join('');
}
