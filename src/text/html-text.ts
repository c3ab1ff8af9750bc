/** What a browser would show of HTML, as text. It need not be exact, and takes linear time for any input. */

/** Most of a longer document is left out before it is looked at. */
const MAX_CHARS = 200_000;
/** Their content is not for readers. */
const HIDDEN: ReadonlySet<string> = new Set(['script', 'style', 'head', 'template', 'svg']);
const BLOCKS =
  /^(?:address|article|aside|blockquote|br|caption|dd|div|dl|dt|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|tbody|tfoot|thead|tr|ul)$/u;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

export function textOfHtml(html: string): string {
  const parts: string[] = [];
  const source = html.slice(0, MAX_CHARS);
  const lower = source.toLowerCase();
  for (let at = 0; at < source.length;) {
    const open = source.indexOf('<', at);
    parts.push(source.slice(at, open === -1 ? undefined : open).replaceAll(/\s+/gu, ' '));
    if (open === -1) break;
    const tag = /^<(?:!--|\/?([a-z][a-z0-9]*))/u.exec(lower.slice(open, open + 32));
    if (tag === null) {
      parts.push('<');
      at = open + 1;
      continue;
    }
    at = endOfTag(lower, open, tag[1]);
    parts.push(shownAs(tag[0], tag[1] ?? ''));
  }
  return tidy(decode(parts.join('')));
}

/** A comment ends with its own mark, and a hidden element with its closing tag. Without an end it takes all the rest. */
function endOfTag(lower: string, open: number, name: string | undefined): number {
  const isHidden = name !== undefined && HIDDEN.has(name) && lower[open + 1] !== '/';
  const mark = name === undefined ? '-->' : isHidden ? `</${name}` : '>';
  const end = lower.indexOf(mark, open);
  if (end === -1) return lower.length;
  return isHidden ? end : end + mark.length;
}

function shownAs(tag: string, name: string): string {
  if (name === 'td' || name === 'th') return tag.startsWith('</') ? ' | ' : '';
  return BLOCKS.test(name) ? '\n' : '';
}

function decode(text: string): string {
  return text.replaceAll(/&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,6});/giu, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = Number(/^#x/iu.test(name) ? `0x${name.slice(2)}` : name.slice(1));
    return code <= 0x10_ffff ? String.fromCodePoint(code) : whole;
  });
}

function tidy(text: string): string {
  return text
    .split('\n')
    .map(withoutEnd)
    .filter((line) => line !== '')
    .join('\n');
}

/** Nothing follows the last cell of a row. */
function withoutEnd(line: string): string {
  let end = line.length;
  while (end > 0 && ' |'.includes(line[end - 1] ?? '')) end -= 1;
  return line.slice(0, end).trim();
}
