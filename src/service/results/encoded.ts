import type { Json } from '../../execution/execution.ts';

type JsonObject = Readonly<Record<string, Json>>;
type Members = { readonly members: JsonObject } | { readonly problem: string };

const MAX_REPORTED = 20;
/** Tags whose `value` says all that callers of the service read. */
const MOMENTS = new Set<unknown>(['datetime', 'date', 'time']);

/** The encoded dictionary `results` by name. */
export function toRecord(value: Json): Members {
  if (!isObject(value)) return { problem: `it is a ${Array.isArray(value) ? 'list' : typeof value}` };
  const { _type: tag } = value;
  if (tag === undefined) return { members: value };
  if (tag === 'dict') return fromPairs(value['items']);
  if (tag === 'truncated' && value['type'] === 'dict') {
    return {
      problem: 'it is too large to be given back. Keep in it what the task asks for and write the rest to files',
    };
  }
  return { problem: `it is a ${typeof tag === 'string' ? tag : 'value of no known type'}` };
}

/** A dictionary that has a key `_type`, or keys that are no text. */
function fromPairs(items: Json | undefined): Members {
  const pairs = Array.isArray(items) ? (items as readonly Json[]) : [];
  const members: [string, Json][] = [];
  for (const pair of pairs) {
    const [name, item] = Array.isArray(pair) ? (pair as readonly Json[]) : [];
    if (typeof name !== 'string' || item === undefined) return { problem: 'it has keys that are not text' };
    members.push([name, item]);
  }
  return { members: Object.fromEntries(members) };
}

/** Moments as plain ISO 8601 text, as callers expect them; all else stays as docs/values.md has it. */
export function withPlainMoments(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).map(([name, item]) => [name, plain(item)]));
}

function plain(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(plain);
  if (!isObject(value)) return value;
  if (MOMENTS.has(value['_type']) && typeof value['value'] === 'string') return value['value'];
  return withPlainMoments(value);
}

/** Where something did not fit, as paths: `results["rows"]`. */
export function cutParts(value: Json, path = 'results'): string[] {
  const paths: string[] = [];
  const visit = (part: Json, at: string): void => {
    if (paths.length >= MAX_REPORTED || typeof part !== 'object' || part === null) return;
    if (isObject(part) && part['_type'] === 'truncated') paths.push(at);
    else if (isObject(part))
      for (const [name, item] of Object.entries(part)) visit(item, `${at}[${JSON.stringify(name)}]`);
    else for (const [index, item] of part.entries()) visit(item, `${at}[${index}]`);
  };
  visit(value, path);
  return paths;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
