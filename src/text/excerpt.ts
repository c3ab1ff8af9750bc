/** Text cut to a size that a reader can use, with a note of how much was left out. */

/** Keeps the head and the tail, which is where a traceback says what happened. */
export function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const half = Math.floor(maxChars / 2);
  const [head, tail] = [headOf(text, half), tailOf(text, half)];
  return `${head}\n… ${text.length - head.length - tail.length} characters omitted …\n${tail}`;
}

/** Keeps the head. */
export function shortenEnd(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const head = headOf(text, maxChars);
  return `${head}… (${text.length - head.length} more characters)`;
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

/** The first characters, with no half of a surrogate pair. */
export function headOf(text: string, length: number): string {
  return text.slice(0, splitsPair(text, length) ? length - 1 : length);
}

/** The last characters, likewise. */
export function tailOf(text: string, length: number): string {
  const start = text.length - length;
  return text.slice(splitsPair(text, start) ? start + 1 : start);
}

/** Whether a cut would leave half of a surrogate pair on each side. Endpoints of models refuse such text. */
function splitsPair(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(Math.max(0, at - 1), at + 1));
}
