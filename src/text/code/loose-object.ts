/** Objects as models write them: JSON, or JSON with bare or singly quoted names, line breaks in strings, a last comma. */
export function readLooseObject(text: string): ReadonlyMap<string, unknown> | null {
  return readJson(text) ?? readLoose(text);
}

function readJson(text: string): ReadonlyMap<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : null;
  } catch {
    return null; // not JSON: that is an answer here
  }
}

const STRING = String.raw`"[^"\\]*(?:\\[^][^"\\]*)*"|'[^'\\]*(?:\\[^][^'\\]*)*'`;
const NAME = new RegExp(String.raw`\s*(?<name>${STRING}|[A-Za-z_]\w*)\s*:\s*`, 'y');
const VALUE = new RegExp(String.raw`(?<value>${STRING}|-?\d[\d.eE+-]*|true|false|null)\s*(?<after>,\s*\}?|\})\s*`, 'y');

/** Members with plain values only; anything else is not this. */
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

/** What a token stands for: the text of a string, anything else as it is written. */
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
