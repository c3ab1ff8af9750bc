/** What a run showed, as text for a model: the content where the text form of a value does not tell it. */
import type { Execution, ProducedFigure, Result } from '../execution/execution.ts';
import { textOfHtml } from './html-text.ts';
import { inLine } from './in-line.ts';
import { cleanText } from './visible.ts';

const MAX_NAME_CHARS = 100;
/** A value that says nothing about itself, such as `<Report object at 0x7f…>`. */
const OPAQUE = /^<[\w.]+(?: object)?(?: at 0x[0-9a-f]+)?>$/u;
/** What functions of matplotlib return. Nobody asked for it: it is the value of a line with such a call. */
const ARTISTS =
  /^(?:\[?(?:<matplotlib\.[\w.]+ object at 0x[0-9a-f]+>(?:,\s*)?)+\]?|<(?:Axes|Figure|BarContainer)[^<>\n]*>|Text\(-?[\d.]+, -?[\d.]+, [^\n]*\))$/u;
/** Forms that a reader understands as they are, best first. */
const READABLE = ['text/markdown', 'text/latex', 'application/json'] as const;

/** The text of one of the results; empty if there is nothing to tell. */
export function describeResult(result: Result, index: number, { figures }: Pick<Execution, 'figures'>): string {
  const { kind, data } = result;
  if (kind === 'figure') return describeFigure(figures.find((figure) => figure.result === index) ?? result);
  const plain = cleanText(data['text/plain'] ?? '').trimEnd();
  if (kind === 'result' && figures.length > 0 && isArtist(plain)) return '';
  const markdown = data['text/markdown'] ?? '';
  if (markdown.trim() !== '') return cleanText(markdown).trimEnd();
  const [first = '', ...notes] = plain.split('\n');
  if (first !== '' && !OPAQUE.test(first)) return plain;
  return [contentOf(data) ?? first, ...notes].filter((line) => line !== '').join('\n');
}

/** Whether a text only names what a plotting call returned. */
export function isArtist(text: string): boolean {
  return ARTISTS.test(text);
}

export function describeFigure({ title, chart, path }: Pick<ProducedFigure, 'title' | 'chart' | 'path'>): string {
  const name = title === undefined ? '' : ` "${inLine(title)}"`;
  return `[figure${name}${chartType(chart)}${path === undefined ? '' : `, saved as ${inLine(path)}`}]`;
}

function contentOf(data: Result['data']): string | undefined {
  for (const mime of READABLE) {
    const content = data[mime];
    if (content !== undefined && content.trim() !== '') return cleanText(content).trimEnd();
  }
  const html = data['text/html'];
  if (html !== undefined) return cleanText(textOfHtml(html)) || `[HTML of ${html.length} characters, without text]`;
  const other = Object.keys(data).find((mime) => mime !== 'text/plain');
  return other === undefined ? undefined : `[${inLine(other, MAX_NAME_CHARS)}]`;
}

function chartType(chart: Result['chart']): string {
  const type = chart !== null && typeof chart === 'object' && 'type' in chart ? chart['type'] : undefined;
  if (typeof type !== 'string' || type === 'unknown') return '';
  return type === 'several' ? ': several charts' : `: ${inLine(type, MAX_NAME_CHARS)} chart`;
}
