import type { Json } from '../../execution/execution.ts';
import { isJsonObject, type JsonObject } from '../api/result.ts';

const MAX_LINES = 150;
const MAX_PATH_CHARS = 200;
const MAX_TEXT_CHARS = 60;
const SAMPLE_ITEMS = 3;
/** Values nested deeper than `context.TYPE.key.field` are shown as samples. */
const MAX_DEPTH = 5;

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KEYWORDS = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
);

/** Outlines `context` for a prompt: one line per path, with type and sample. Every branch gets its share of the lines. */
export function outlineContext(context: JsonObject): string {
  return outlineMembers(context, 'context', MAX_LINES, 0).join('\n');
}

function outlineMembers(object: JsonObject, path: string, budget: number, depth: number): string[] {
  const lines: string[] = [];
  const members = Object.entries(object);
  const room = members.length > budget ? Math.max(0, budget - 1) : budget;
  const shown = members.slice(0, room);
  for (const [index, [name, value]] of shown.entries()) {
    const share = Math.max(1, Math.floor((room - lines.length) / (shown.length - index)));
    lines.push(...outline(value, path + step(name), share, depth + 1));
  }
  if (members.length > shown.length) lines.push(`${cut(path)}: ${members.length - shown.length} more names`);
  return lines;
}

function outline(value: Json, path: string, budget: number, depth: number): string[] {
  const tagged = describeTagged(value);
  if (tagged !== undefined) return [`${cut(path)}: ${tagged}`];
  const canDescend = isJsonObject(value) && depth < MAX_DEPTH && Object.keys(value).length > 0 && budget > 1;
  return canDescend ? outlineMembers(value, path, budget, depth) : [`${cut(path)}: ${describe(value)}`];
}

function describe(value: Json): string {
  if (value === null) return 'None';
  if (Array.isArray(value)) return describeList(value as readonly Json[]);
  if (typeof value === 'object') return `dict of ${Object.keys(value).length}, for example ${sample(value, 1)}`;
  const length = typeof value === 'string' ? ` of ${value.length} characters` : '';
  return `${typeName(value)}${length} = ${sample(value, 0)}`;
}

/** Describes a value that JSON cannot represent (see docs/values.md). Undefined for any other value. */
function describeTagged(value: Json): string | undefined {
  if (!isJsonObject(value) || typeof value['_type'] !== 'string') return undefined;
  const { _type: tag, value: content, items, index } = value;
  switch (tag) {
    case 'int':
    case 'float':
      return `${tag} = ${typeof content === 'string' ? cut(content, MAX_TEXT_CHARS) : '?'}`;
    case 'set':
    case 'frozenset':
    case 'dict':
      return `${tag} of ${Array.isArray(items) ? items.length : 0}, for example ${sample(items ?? null, 1)}`;
    case 'DataFrame':
      return `pandas DataFrame of ${Array.isArray(index) ? index.length : 0} rows, for example ${sample(content ?? null, 1)}`;
    case 'Series':
      return `pandas Series of ${Array.isArray(index) ? index.length : 0}, for example ${sample(content ?? null, 1)}`;
    case 'datetime':
    case 'date':
    case 'time':
    case 'timedelta':
    case 'decimal':
      return `${tag} = ${sample(content ?? null, 0)}`;
    default:
      return undefined;
  }
}

function describeList(items: readonly Json[]): string {
  if (items.length === 0) return 'list, empty';
  const types = [...new Set(items.slice(0, 1000).map(typeName))].slice(0, SAMPLE_ITEMS);
  return `list of ${items.length} ${types.join(' and ')}, for example ${sample(items, 1)}`;
}

function typeName(value: Json): string {
  if (value === null) return 'None';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  return { string: 'str', boolean: 'bool', object: 'dict' }[typeof value as 'string' | 'boolean' | 'object'];
}

/** The start of a value as Python text. Containers deeper than `levels` are abbreviated. */
function sample(value: Json, levels: number): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return JSON.stringify(cut(value, MAX_TEXT_CHARS));
  if (Array.isArray(value)) {
    const items = (value as readonly Json[]).slice(0, levels >= 0 ? SAMPLE_ITEMS : 0);
    return `[${list(
      items.map((item) => sample(item, levels - 1)),
      value.length,
    )}]`;
  }
  const members = Object.entries(value).slice(0, levels >= 0 ? SAMPLE_ITEMS : 0);
  return `{${list(
    members.map(([name, item]) => `${JSON.stringify(cut(name, MAX_TEXT_CHARS))}: ${sample(item, levels - 1)}`),
    Object.keys(value).length,
  )}}`;
}

function list(shown: readonly string[], length: number): string {
  return [...shown, ...(length > shown.length ? ['…'] : [])].join(', ');
}

function step(name: string): string {
  return IDENTIFIER.test(name) && !KEYWORDS.has(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function cut(text: string, maxChars = MAX_PATH_CHARS): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}
