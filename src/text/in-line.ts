import { escapeAnsi } from './clean-text.ts';
import { makeVisible } from './visible.ts';

/** Of foreign text in a sentence of ours. */
const MAX_CHARS = 300;

/** Foreign text within a line of ours: it cannot begin another line, hide anything or be long. */
export function inLine(text: string, maxChars = MAX_CHARS): string {
  const line = makeVisible(escapeAnsi(text.slice(0, 4 * maxChars)).replaceAll(/\s+/gu, ' ')).trim();
  return line.length > maxChars ? `${line.slice(0, maxChars - 1).toWellFormed()}…` : line;
}
