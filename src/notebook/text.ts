/** Converts text for notebooks: to lines, and to Markdown that shows the text unchanged. */
import { escapeControls, makeVisible } from '../text/visible.ts';

/** The lines with their line ends, which is how notebooks store text. */
export function linesOf(text: string): string[] {
  return wellFormed(text).match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Replaces lone surrogates by escapes. JSON can hold them, but other tools cannot write them to a file. */
export function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replaceAll(/\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

/** A code block that shows the text, whatever it contains. Control characters are escapes: it is printed to terminals too. */
export function fenced(text: string, language = ''): string {
  let fence = '```';
  for (const [ticks] of text.matchAll(/`{3,}/g)) if (ticks.length >= fence.length) fence = `${ticks}\``;
  return `${fence}${language}\n${escapeControls(text.replace(/\n$/, ''))}\n${fence}`;
}

/** One line of Markdown that shows the text unchanged. Parentheses are not escaped: that would begin a formula. */
export function inlineText(text: string): string {
  return makeVisible(text.replaceAll(/\s+/g, ' ')).replaceAll(/[\\`*_[\]<>#$|~&]/g, String.raw`\$&`);
}
