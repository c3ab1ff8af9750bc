import { escapeAnsi } from './clean-text.ts';
import { makeVisible } from './visible.ts';

/** Untrusted text for use within one of our lines: without line breaks and control characters, and shortened. */
export function inLine(text: string, maxChars: number): string {
  const line = makeVisible(escapeAnsi(text.slice(0, 4 * maxChars)).replaceAll(/\s+/g, ' ')).trim();
  return line.length > maxChars ? `${line.slice(0, maxChars - 1)}…` : line;
}
