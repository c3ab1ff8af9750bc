import { fencedBlocks, inlineBlocks, isPython, type Block } from './fences.ts';
import { readLooseObject } from './loose-object.ts';
import { bareMatch, mayBePython } from './python-marks.ts';

/**
 * The Python in a text that a model wrote. In doubt the text is returned as it is: nothing may damage code that is fine.
 *
 * 0. What stands between the marks by which InternLM calls its interpreter, itself treated as below. A call that breaks
 *    off ends with the text.
 * 1. An object with a string `code`, as JSON or nearly so: that string, itself taken out of its fences.
 * 2. A text in which every backtick is in a string or a comment may be Python as a whole: unchanged.
 * 3. Fenced blocks: those marked as Python, joined. Without any, those without a mark, joined; in text beside marked ones
 *    such a block is mostly output. Without any of either, the `code` of a block that holds such an object. Blocks of
 *    other languages are left out. A fence that is never closed ends with the text.
 * 4. Code between three backticks or more within lines, joined.
 * 5. One span of one or two backticks, when all around it is prose.
 */
export function extractCode(text: string): string {
  return fromText(readAction(text) ?? text);
}

function fromText(text: string): string {
  const called = readCode(text);
  if (called !== null) return extractCode(called);
  if (mayBePython(text)) return text;
  const lines = text.replaceAll('\r\n', '\n');
  const fenced = fencedBlocks(lines);
  const blocks = fenced.length > 0 ? fenced : inlineBlocks(lines);
  return (blocks.length > 0 ? fromBlocks(blocks) : fromSpan(lines)) ?? text;
}

const ACTION = /<\|action_start\|>\s*<\|interpreter\|>/g;
const ACTION_END = /<\|action_end\|>/g;

/** The code of the first call; marks in strings and comments of code are none. */
function readAction(text: string): string | null {
  const start = bareMatch(text, ACTION);
  if (start === null) return null;
  const code = text.slice(start.index + start[0].length);
  const end = bareMatch(code, ACTION_END) ?? new RegExp(ACTION_END).exec(code);
  return code
    .slice(0, end?.index)
    .replace(/^\s*\n/, '')
    .trimEnd();
}

function readCode(text: string): string | null {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return null;
  const code = readLooseObject(trimmed)?.get('code');
  return typeof code === 'string' ? code : null;
}

function fromBlocks(blocks: readonly Block[]): string | null {
  const marked = blocks.filter(isPython);
  if (marked.length > 0) return join(marked);
  for (const { code } of blocks) {
    const called = readCode(code);
    if (called !== null) return extractCode(called);
  }
  const unmarked = blocks.filter(({ language }) => language === '');
  return unmarked.length > 0 ? join(unmarked) : null;
}

function join(blocks: readonly Block[]): string {
  return blocks.map(({ code }) => code).join('\n');
}

/** Words and their punctuation, without what code is made of. */
const PROSE = /^(?![!%])[\p{L}\p{M}\p{N}\s.,:;?!'"“”‘’«»…–—*_>-]*$/u;

function fromSpan(text: string): string | null {
  const [, before = '', , code = '', after = ''] = /^([^`]*)(`{1,2})([^`]+)\2([^`]*)$/.exec(text.trim()) ?? [];
  return code.trim() !== '' && PROSE.test(before) && PROSE.test(after) ? code.trim() : null;
}
