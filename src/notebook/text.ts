/** Text on its way into a notebook: as lines, and as Markdown that says what the text says. */

/** The lines of a text with their ends, as notebooks keep it. */
export function linesOf(text: string): string[] {
  return wellFormed(text).match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Lone surrogates as their escapes: JSON can carry them, but no tool could write them to a file. */
export function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replaceAll(/\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

/** A block that shows a text as it is, whatever is in it. */
export function fenced(text: string, language = ''): string {
  let fence = '```';
  for (const [ticks] of text.matchAll(/`{3,}/g)) if (ticks.length >= fence.length) fence = `${ticks}\``;
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`;
}

/** One line of Markdown that shows a text as it is; parentheses stay, since escaped ones begin a formula. */
export function inlineText(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/[\\`*_[\]<>#$|~&]/g, String.raw`\$&`);
}
