/** Finds strings and comments in text that may be Python, by their marks alone. */

/** Python has no backticks and no lines of tildes outside of strings and comments. */
export function mayBePython(text: string): boolean {
  return bareMatch(text, /`|^[ \t]*~{3,}[ \t\r]*$/gm) === null;
}

/**
 * The first match of a global pattern that begins outside of strings and comments. Reads no further than that. A quote
 * without a closing quote on its line is an apostrophe, and so is one right after a word (`It's`), unless the word can
 * precede a string (`f'…'`, `return'…'`).
 */
export function bareMatch(text: string, pattern: RegExp): RegExpExecArray | null {
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    while (at < match.index) {
      const end = skip(text, at);
      at = end > at ? end : at + (text[at] === '\\' ? 2 : 1);
    }
    if (at === match.index) return match;
  }
  return null;
}

/** The end of the string or comment that begins at `at`; `at` itself if there is none. */
function skip(text: string, at: number): number {
  const character = text[at];
  if (character === '#') return endOfLine(text, at);
  if ((character !== '"' && character !== "'") || isApostrophe(text, at)) return at;
  const isLong = text[at + 1] === character && text[at + 2] === character;
  return isLong ? endOfLongString(text, at, character) : endOfString(text, at, character);
}

const STRING_PREFIX = /^(?:[bfrtu]|[bft]r|r[bft])$/i;
const WORDS_BEFORE_STRINGS = new Set(
  'and assert await case del elif else from if in is lambda match not or print raise return while with yield'.split(
    ' ',
  ),
);
const LONGEST_WORD = 7;

function isApostrophe(text: string, at: number): boolean {
  const word = /[\p{L}\p{N}_]+$/u.exec(text.slice(Math.max(0, at - LONGEST_WORD), at))?.[0];
  return word !== undefined && !STRING_PREFIX.test(word) && !WORDS_BEFORE_STRINGS.has(word);
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

function endOfString(text: string, start: number, quote: string): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === quote) return at + 1;
    if (text[at] === '\\') at += 1;
    else if (text[at] === '\n') break;
  }
  return start;
}

function endOfLongString(text: string, start: number, quote: string): number {
  for (let at = start + 3; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote && text[at + 1] === quote && text[at + 2] === quote) return at + 3;
  }
  return text.length;
}
