/** Reads the encoded value of `results` (see docs/values.md). */
import type { Json } from '../../execution/execution.ts';
import { isJsonObject, type JsonObject } from '../api/result.ts';

type Members = { readonly members: JsonObject } | { readonly problem: string };

const MAX_REPORTED = 20;
/** Tags of values that callers get as plain text. */
const DATE_TAGS = new Set<unknown>(['datetime', 'date', 'time']);

/** The members of the encoded dictionary `results`. */
export function membersOf(value: Json): Members {
  if (!isJsonObject(value)) return { problem: `it is a ${Array.isArray(value) ? 'list' : typeof value}` };
  const { _type: tag } = value;
  if (tag === undefined) return { members: value };
  if (tag === 'dict') return fromPairs(value['items']);
  if (tag === 'truncated' && value['type'] === 'dict') {
    return {
      problem: 'it is too large to return. Keep only what the task asks for in it, and write the rest to files',
    };
  }
  return { problem: `it is a ${typeof tag === 'string' ? tag : 'value of unknown type'}` };
}

/** For a dictionary with a key `_type` or with keys that are not text. */
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

/** Turns dates and times into plain ISO 8601 text, as callers expect. Other values stay encoded. */
export function withPlainDates(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).map(([name, item]) => [name, plain(item)]));
}

function plain(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(plain);
  if (!isJsonObject(value)) return value;
  if (DATE_TAGS.has(value['_type']) && typeof value['value'] === 'string') return value['value'];
  return withPlainDates(value);
}

/** The paths of truncated values: `results["rows"]`. */
export function truncatedPaths(value: Json, path = 'results'): string[] {
  const paths: string[] = [];
  const visit = (part: Json, at: string): void => {
    if (paths.length >= MAX_REPORTED || typeof part !== 'object' || part === null) return;
    if (isJsonObject(part) && part['_type'] === 'truncated') paths.push(at);
    else if (isJsonObject(part))
      for (const [name, item] of Object.entries(part)) visit(item, `${at}[${JSON.stringify(name)}]`);
    else for (const [index, item] of part.entries()) visit(item, `${at}[${index}]`);
  };
  visit(value, path);
  return paths;
}
