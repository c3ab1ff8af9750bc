import type { Json } from '../execution/execution.ts';
import { shorten } from './excerpt.ts';

/** Shorter texts are not cut any further: paths and names must stay whole. */
const LEAST_TEXT = 250;

/**
 * JSON of at most `maxChars`, if that is possible, which stays valid: long texts in it keep their head and tail, and long
 * lists their first items. Each says how much was left out.
 */
export function fitJson(value: Json, maxChars: number): string {
  const whole = JSON.stringify(value);
  if (whole.length <= maxChars) return whole;
  for (const bounds of smallerAndSmaller(maxChars)) {
    const text = JSON.stringify(cut(value, bounds));
    if (text.length <= maxChars) return text;
  }
  return shorten(whole, maxChars);
}

interface Bounds {
  readonly textChars: number;
  readonly items: number;
}

/** Texts give way before lists do. */
function* smallerAndSmaller(maxChars: number): Generator<Bounds> {
  for (let items = Number.MAX_SAFE_INTEGER; items > 0; items = Math.floor(Math.min(items, 40) / 2)) {
    for (let textChars = maxChars; textChars > LEAST_TEXT; textChars *= 0.8) yield { textChars, items };
    yield { textChars: LEAST_TEXT, items };
  }
}

function cut(value: Json, bounds: Bounds): Json {
  if (typeof value === 'string') return shorten(value, bounds.textChars);
  if (typeof value !== 'object' || value === null) return value;
  if (!isList(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cut(item, bounds)]));
  }
  const kept = value.slice(0, bounds.items).map((item) => cut(item, bounds));
  const more = value.length - kept.length;
  return more === 0 ? kept : [...kept, `… ${more} more items omitted …`];
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
