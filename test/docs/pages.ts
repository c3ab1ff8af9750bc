/** README.md and docs/*.md as a reader copies from them: their snippets, what these print, their tables and links. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');

/** Languages of snippets that are run or parsed. `text` is the output of the snippet before it, `mermaid` a diagram. */
const LANGUAGES = ['ts', 'sh', 'python', 'yaml', 'json'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface Snippet {
  readonly language: Language;
  /** Of its first line in the page. */
  readonly line: number;
  readonly code: string;
  /** What the page says that it prints. */
  readonly output?: string;
}

export interface Page {
  /** Relative to the root of the repository. */
  readonly file: string;
  readonly name: string;
  readonly text: string;
  readonly snippets: readonly Snippet[];
}

export function readPages(): Page[] {
  const files = ['README.md', ...globSync('docs/*.md', { cwd: ROOT }).toSorted()];
  return files.map((file) => {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    return { file, name: path.basename(file, '.md').toLowerCase(), text, snippets: snippetsOf(file, text) };
  });
}

/** A page that tells its reader to start a server. Its programs, those in Python too, are clients of one. */
export function isServed({ snippets }: Page): boolean {
  return snippets.some(({ language, code }) => language === 'sh' && SERVE.test(code));
}

/** By itself: it runs until it is stopped. */
export const SERVE = /^vivarium serve(?: +#.*)?$/mu;

const FENCE = /^(?<fence>`{3,})(?<info>[^\n]*)\n(?<code>.*?)^\k<fence>$/gmsu;

/** Blocks that nothing can run or parse are errors. */
export function snippetsOf(file: string, text: string): Snippet[] {
  const snippets: Snippet[] = [];
  let previousEnd = -1;
  for (const match of text.matchAll(FENCE)) {
    const { info = '', code = '' } = match.groups ?? {};
    const line = text.slice(0, match.index).split('\n').length + 1;
    const language = LANGUAGES.find((known) => known === info);
    if (language !== undefined) {
      snippets.push({ language, line, code });
    } else if (info === 'text') {
      const snippet = snippets.at(-1);
      if (snippet === undefined || snippet.output !== undefined || text.slice(previousEnd, match.index).trim() !== '')
        throw new Error(`${file}:${line}: a text block shows the output of the snippet right before it`);
      snippets[snippets.length - 1] = { ...snippet, output: code };
    } else if (info !== 'mermaid') {
      throw new Error(`${file}:${line}: nothing can run or parse ${info === '' ? 'a block without a language' : info}`);
    }
    previousEnd = match.index + match[0].length;
  }
  return snippets;
}

/** Cells of all tables, with the line that they are in. */
export function cellsOf(text: string): { readonly line: number; readonly cell: string }[] {
  return text.split('\n').flatMap((row, index) =>
    row.startsWith('|')
      ? row
          .slice(1, row.lastIndexOf('|'))
          .split(/(?<!\\)\|/u)
          .map((cell) => ({ line: index + 1, cell: cell.trim() }))
      : [],
  );
}

/** Targets of links that are not addresses. */
export function linksOf(text: string): string[] {
  const prose = text.replaceAll(FENCE, '');
  const targets = [...prose.matchAll(/\]\((?<target>[^)\s]+)\)|(?:src|srcset|href)="(?<attribute>[^"]+)"/gu)].map(
    ({ groups }) => groups?.['target'] ?? groups?.['attribute'] ?? '',
  );
  return targets.filter((target) => !/^[a-z]+:/u.test(target));
}

/** Anchors of headings, as GitHub makes them. */
export function anchorsOf(text: string): Set<string> {
  return new Set(
    [...text.replaceAll(FENCE, '').matchAll(/^#+ (?<title>.*)$/gmu)].map(({ groups }) =>
      (groups?.['title'] ?? '')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}
