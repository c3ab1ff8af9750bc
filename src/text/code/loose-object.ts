/** Reads objects as models write them: JSON, also with unquoted or single-quoted names, line breaks in strings or a trailing comma. */
export function readLooseObject(text: string): ReadonlyMap<string, unknown> | null {
  return readJson(text) ?? readLoose(text);
}

function readJson(text: string): ReadonlyMap<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : null;
  } catch {
    return null; // not JSON
  }
}

const STRING = String.raw`"[^"\\]*(?:\\[^][^"\\]*)*"|'[^'\\]*(?:\\[^][^'\\]*)*'`;
const NAME = new RegExp(String.raw`\s*(?<name>${STRING}|[A-Za-z_]\w*)\s*:\s*`, 'y');
const VALUE = new RegExp(String.raw`(?<value>${STRING}|-?\d[\d.eE+-]*|true|false|null)\s*(?<after>,\s*\}?|\})\s*`, 'y');

/** Supports only members with plain values. */
function readLoose(text: string): ReadonlyMap<string, unknown> | null {
  const members = new Map<string, unknown>();
  for (let at = 1; at < text.length;) {
    const name = match(NAME, text, at);
    const value = name && match(VALUE, text, NAME.lastIndex);
    if (!name || !value) return null;
    members.set(plain(name['name'] ?? ''), plain(value['value'] ?? ''));
    at = VALUE.lastIndex;
    if (value['after']?.endsWith('}')) return at === text.length ? members : null;
  }
  return null;
}

function match(pattern: RegExp, text: string, at: number): Readonly<Record<string, string>> | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.groups ?? null;
}

/** The value of a token: the content of a string, anything else as written. */
function plain(token: string): string {
  return /^["']/.test(token)
    ? token.slice(1, -1).replaceAll(/\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[^])/g, unescape)
    : token;
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['f', '\f'],
  ['0', '\0'],
  ['\n', ''],
]);

function unescape(_: string, escaped: string): string {
  if (escaped.length > 1) return String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
  return ESCAPES.get(escaped) ?? escaped;
}
