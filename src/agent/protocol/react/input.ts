/** Reads the input of an action: a JSON object, or plain text for a tool with one argument. */
import type { ParameterSchema } from '../../../tool/tool.ts';
import type { ReplySection } from './scanner.ts';

export type CallArguments = Readonly<Record<string, unknown>>;
export type ReadInput = { readonly args: CallArguments } | { readonly problem: string };

/** The name that ReAct models often use for a single argument. */
const ALIAS = 'input';

/** Truncated input is refused, never completed by guessing: half a program must not run. */
export function readInput(
  { text, block }: Pick<ReplySection, 'text' | 'block'>,
  schema: ParameterSchema | undefined,
): ReadInput {
  if (block?.isClosed === false) return { problem: 'its fence is not closed' };
  const source = block?.text ?? withoutTicks(text.trim());
  if (source.trim() === '') return (schema?.required.length ?? 0) === 0 ? { args: {} } : { problem: 'it is empty' };
  const names = [...Object.keys(schema?.properties ?? {}), ALIAS];
  const object = readObject(source.trim(), names);
  if (object !== undefined) return { args: object };
  return isBrokenObject(source.trim(), names) ? { problem: 'it is not valid JSON' } : readPlain(source, schema);
}

/** Models put short code in backticks. */
function withoutTicks(text: string): string {
  return /^(?<ticks>`{1,3})(?<inside>[^`]+)\k<ticks>$/u.exec(text)?.groups?.['inside'] ?? text;
}

function readPlain(source: string, schema: ParameterSchema | undefined): ReadInput {
  const whole = parse(source.trim());
  const text = typeof whole === 'string' ? whole : source;
  if (schema === undefined) return { args: { [ALIAS]: text } };
  const names = Object.keys(schema.properties);
  const [name, ...others] = schema.required.length > 0 ? schema.required : names;
  if (name === undefined || others.length > 0) {
    return { problem: `it must be a JSON object with ${names.map((each) => `"${each}"`).join(', ')}` };
  }
  const isText = schema.properties[name]?.type === 'string';
  return { args: { [name]: isText ? text.replace(/\n$/u, '') : (whole ?? text) } };
}

/** An object that is the whole text, or one with argument names of this tool and more text after it. */
function readObject(text: string, names: readonly string[]): CallArguments | undefined {
  if (!text.startsWith('{')) return undefined;
  const { json, rest } = cutObject(text);
  const value = parse(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return rest.trim() === '' || names.some((name) => Object.hasOwn(value, name)) ? { ...value } : undefined;
}

/** Cuts at the closing bracket, and escapes line breaks inside strings, which models write and JSON forbids. */
function cutObject(text: string): { readonly json: string; readonly rest: string } {
  const parts: string[] = [];
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (isInString && character === '\\') {
      parts.push(character, text[(at += 1)] ?? '');
      continue;
    }
    parts.push(isInString ? (ESCAPES.get(character) ?? character) : character);
    if (character === '"') isInString = !isInString;
    else if (!isInString && '{['.includes(character)) depth += 1;
    else if (!isInString && '}]'.includes(character)) depth -= 1;
    if (depth === 0) return { json: parts.join(''), rest: text.slice(at + 1) };
  }
  return { json: parts.join(''), rest: '' };
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** Whether the text was meant as arguments; plain code can also begin with a bracket. */
function isBrokenObject(text: string, names: readonly string[]): boolean {
  const name = /^\{\s*["'](?<name>\w+)["']\s*:/u.exec(text)?.groups?.['name'];
  return name !== undefined && names.includes(name);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // probably plain text
  }
}
