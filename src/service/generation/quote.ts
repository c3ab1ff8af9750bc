/** Puts foreign text into a prompt: shortened, and fenced so that nothing in it can end the fence. */
import { fenced } from '../../notebook/text.ts';

import { shorten } from '../../text/excerpt.ts';
import { inLine } from '../../text/in-line.ts';
import { cleanText } from '../../text/visible.ts';

export interface QuoteOptions {
  readonly maxChars: number;
  readonly language?: string;
}

/** A block whose fence is longer than any fence in the text. */
export function quote(text: string, { maxChars, language = 'text' }: QuoteOptions): string {
  return fenced(cleanText(shorten(text.trimEnd(), maxChars)), language);
}

/** The text as one line, without a fence. */
export function oneLine(text: string, maxChars: number): string {
  return inLine(text, maxChars);
}
