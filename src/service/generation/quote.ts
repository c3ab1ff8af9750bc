/** Puts foreign text into a prompt: shortened, and fenced so that nothing in it can end the fence. */
import { fenced } from '../../notebook/text.ts';
import { escapeAnsi } from '../../text/clean-text.ts';
import { shorten } from '../../text/excerpt.ts';

export interface QuoteOptions {
  readonly maxChars: number;
  readonly language?: string;
}

/** A block whose fence is longer than any fence in the text. */
export function quote(text: string, { maxChars, language = 'text' }: QuoteOptions): string {
  return fenced(escapeAnsi(shorten(text.trimEnd(), maxChars)), language);
}

/** The text as one line, without a fence. */
export function oneLine(text: string, maxChars: number): string {
  const line = escapeAnsi(text.slice(0, 2 * maxChars))
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line.length > maxChars ? `${line.slice(0, maxChars)}…` : line;
}
