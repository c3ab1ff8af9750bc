/** Text cut to a size that a reader can use, with a note of how much was left out. */

/** Keeps the head and the tail, which is where a traceback says what happened. */
export function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const half = Math.floor(maxChars / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters omitted …\n${text.slice(text.length - half)}`;
}

/** Keeps the head. */
export function shortenEnd(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars)}… (${text.length - maxChars} more characters)`;
}

/** The first names of a list, and how many more there are. */
export function listSome(names: readonly string[], maxNames: number): string {
  const more = names.length > maxNames ? `, and ${names.length - maxNames} more` : '';
  return names.slice(0, maxNames).join(', ') + more;
}

/** Puts each part on lines of its own; empty parts are left out. */
export function joinLines(parts: readonly string[]): string {
  return parts
    .filter((part) => part !== '')
    .map((part, index, all) => (index < all.length - 1 && !part.endsWith('\n') ? `${part}\n` : part))
    .join('');
}
