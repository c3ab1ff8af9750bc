import { fencedBlocks, inlineBlocks, isPython, type Block } from './fences.ts';
import { readLooseObject } from './loose-object.ts';
import { bareMatch, mayBePython } from './python-marks.ts';

/**
 * Extracts Python from the reply of a model. In doubt it returns the text unchanged: it must not damage valid code.
 *
 * 0. The text between the marks of an InternLM interpreter call, which is then handled as below. A truncated call ends
 *    with the text.
 * 1. An object with a string `code`, as JSON or almost JSON: that string, without its fences.
 * 2. A text with backticks only in strings and comments may be Python as a whole: unchanged.
 * 3. Fenced blocks: those marked as Python, joined. If there are none, the `code` of a block that holds such an object. If
 *    there is none, the unmarked blocks, joined; next to marked blocks they are usually output. Blocks of other languages
 *    are ignored. A fence that is never closed ends with the text.
 * 4. Code between three or more backticks within lines, joined.
 * 5. One span of one or two backticks, if everything around it is prose.
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

/** The code of the first call. Marks in strings and comments do not count. */
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

/** Words and punctuation, without characters that only code has. */
const PROSE = /^(?![!%])[\p{L}\p{M}\p{N}\s.,:;?!'"“”‘’«»…–—*_>-]*$/u;

function fromSpan(text: string): string | null {
  const [, before = '', , code = '', after = ''] = /^([^`]*)(`{1,2})([^`]+)\2([^`]*)$/.exec(text.trim()) ?? [];
  return code.trim() !== '' && PROSE.test(before) && PROSE.test(after) ? code.trim() : null;
}
