import { bareMatch } from './python-marks.ts';

/** A fenced code block of Markdown. */
export interface Block {
  /** The language of the opening fence in lower case; empty if it has none. */
  readonly language: string;
  readonly code: string;
}

const PYTHON = new Set(['python', 'python3', 'py', 'py3', 'ipython', 'ipython3']);

/** Recognised as a language if they are on the same line as the code. */
const OTHERS = new Set(
  'bash console css html java javascript js json r sh shell sql text ts typescript xml yaml zsh'.split(' '),
);

const OPENING = /^(?<indent>[ \t]*)(?<fence>`{3,}|~{3,})[ \t]*(?<info>[^`]*)$/;

/** A language and its attributes: `python`, `{.python}`, `python title="a.py"`, `python:main.py`; not a statement. */
const INFO =
  /^\{?\.?(?!(?:class|def|for|from|if|import|print|try|while|with)\b)(?<language>[\w+#-]+)(?:[,:}].*|[ \t]+[^\s=].*)?$/;

export function isPython({ language }: Block): boolean {
  return PYTHON.has(language);
}

/** All blocks whose opening fence is on its own line. A block that is never closed ends with the text. */
export function fencedBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < text.length;) {
    const lineEnd = endOfLine(text, at);
    const opening = openingOf(text.slice(at, lineEnd));
    if (opening === null) {
      at = lineEnd + 1;
      continue;
    }
    const body = text.slice(lineEnd + 1);
    const { end, next } = findClosing(body, opening);
    blocks.push({ language: opening.language, code: outdent(body.slice(0, end), opening.indent) });
    at = lineEnd + 1 + next;
  }
  return blocks.filter(({ code }) => code.trim() !== '');
}

/** Blocks that begin within a line: three or more backticks, up to the same number again. */
export function inlineBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let opening: RegExpExecArray | null = null;
  for (const run of text.matchAll(/`{3,}/g)) {
    if (opening === null) {
      opening = run;
    } else if (run[0] === opening[0]) {
      blocks.push(inlineBlock(text.slice(opening.index + opening[0].length, run.index)));
      opening = null;
    }
  }
  return blocks.filter(({ code }) => code.trim() !== '' && !isQuoted(code));
}

interface Opening {
  readonly indent: string;
  readonly fence: string;
  readonly language: string;
}

function openingOf(line: string): Opening | null {
  const { indent = '', fence = '', info = '' } = OPENING.exec(line)?.groups ?? {};
  const trimmed = info.trim();
  const language = trimmed === '' ? '' : INFO.exec(trimmed)?.groups?.['language'];
  return fence === '' || language === undefined ? null : { indent, fence, language: language.toLowerCase() };
}

/** Where the code of a block ends, and where the text after it begins. */
interface Closing {
  readonly end: number;
  readonly next: number;
}

/** Prefers a closing fence outside of strings: the code may contain fences in strings. */
function findClosing(body: string, { fence, language }: Opening): Closing {
  const mark = fence.slice(0, 1);
  const line = new RegExp(`^[ \\t]*${mark}{${fence.length},}[ \\t]*$`, 'gm');
  // Python has no backticks outside of strings, so a fence may also come at the end of a line of code.
  const bare = mark === '`' ? new RegExp(`\`{${fence.length},}`, 'g') : line;
  const mayBePython = language === '' || PYTHON.has(language);
  const found = (mayBePython ? bareMatch(body, bare) : null) ?? line.exec(body);
  return found === null
    ? { end: body.length, next: body.length }
    : { end: found.index, next: endOfLine(body, found.index) + 1 };
}

function inlineBlock(content: string): Block {
  const { language = '', rest = '' } = /^(?<language>[\w+#-]+)[ \t]*\n(?<rest>[^]*)$/.exec(content)?.groups ?? {};
  if (language !== '')
    return { language: language.toLowerCase(), code: outdent(rest, /^[ \t]*/.exec(rest)?.[0] ?? '') };
  const [, word = '', code = ''] = /^(\w+)[ \t]+([^]+)$/.exec(content) ?? [];
  const tag = word.toLowerCase();
  if (PYTHON.has(tag) || OTHERS.has(tag)) return { language: tag, code: code.trim() };
  const lines = content.replace(/^[ \t]*\n/, '').trimEnd();
  return { language: '', code: outdent(lines, /^[ \t]*/.exec(lines)?.[0] ?? '') };
}

/** Whether the lines have Markdown quotation marks, which are not code. */
function isQuoted(code: string): boolean {
  return /\n[ \t]*>/.test(code);
}

/** Markdown removes the indentation of the fence from each line. */
function outdent(code: string, indent: string): string {
  const lines = code.trimEnd().split('\n');
  return lines.map((line) => line.slice(sharedLength(line, indent))).join('\n');
}

function sharedLength(line: string, indent: string): number {
  let length = 0;
  while (length < indent.length && line[length] === indent[length]) length += 1;
  return length;
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}
