/**
 * Checks the shape of hostile values that JSON.parse has made. A check ends at the first thing that is wrong and names its
 * field, never its content. Lists are counted before anything in them is looked at.
 */
import type { Json } from '../execution/execution.ts';
import { ProtocolViolation } from './hostile-json.ts';

/** Returns the value as what it is, without fields that nobody asked for. `field` is the name that a complaint gives. */
export type Shape<T> = (value: unknown, field: string) => T;
export type Shaped<S> = S extends Shape<infer T> ? T : never;
type Shapes = Readonly<Record<string, Shape<unknown>>>;
type FieldsOf<S extends Shapes> = { [K in keyof S]: Shaped<S[K]> };

/** A text. Without a bound, that of its frame applies. */
export function text(maxChars = Number.POSITIVE_INFINITY): Shape<string> {
  return (value, field) => (typeof value === 'string' && value.length <= maxChars ? value : refuse(field));
}

/** A text in another form, such as a cleaned one. */
export function made<T>(shape: Shape<T>, make: (value: T) => T): Shape<T> {
  return (value, field) => make(shape(value, field));
}

export function matching(pattern: RegExp): Shape<string> {
  return (value, field) => (typeof value === 'string' && pattern.test(value) ? value : refuse(field));
}

export function oneOf<const W extends string>(...words: readonly W[]): Shape<W> {
  return (value, field) => words.find((word) => word === value) ?? refuse(field);
}

export function flag(value: unknown, field: string): boolean {
  return typeof value === 'boolean' ? value : refuse(field);
}

/** An integer. */
export function integer(least = 0, most = Number.MAX_SAFE_INTEGER): Shape<number> {
  return (value, field) =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most ? value : refuse(field);
}

/** A number from 0 on, whole or not. */
export function amount(value: unknown, field: string): number {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : refuse(field);
}

/** Anything. How deep and how large it is was bounded before it was parsed. */
export function json(value: unknown, field: string): Json {
  return value === undefined ? refuse(field) : (value as Json);
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value, field) => (value === null ? null : shape(value, field));
}

/** A field that is left out where it has its usual value. */
export function usually<T>(shape: Shape<T>, usual: () => T): Shape<T> {
  return (value, field) => (value === undefined ? usual() : shape(value, field));
}

export function listOf<T>(shape: Shape<T>, most: number): Shape<T[]> {
  return (value, field) => {
    if (!Array.isArray(value) || value.length > most) return refuse(field);
    return value.map((item: unknown) => shape(item, field));
  };
}

export function pair<A, B>(first: Shape<A>, second: Shape<B>): Shape<[A, B]> {
  return (value, field) => {
    if (!Array.isArray(value) || value.length !== 2) return refuse(field);
    return [first(value[0], field), second(value[1], field)];
  };
}

/** Texts by name, of which there are few. */
export function texts(maxNameChars: number, most: number): Shape<Record<string, string>> {
  return (value, field) => {
    const entries = Object.entries(isObject(value) ? value : refuse(field));
    const isWrong = ([name, form]: [string, unknown]): boolean =>
      typeof form !== 'string' || name.length > maxNameChars;
    if (entries.length > most || entries.some(isWrong)) return refuse(field);
    return Object.fromEntries(entries) as Record<string, string>;
  };
}

export function fields<R extends Shapes>(required: R): Shape<FieldsOf<R>> {
  return (value, field) => {
    const from = isObject(value) ? value : refuse(field);
    const found: Record<string, unknown> = {};
    for (const name in required) found[name] = required[name]?.(own(from, name), `${field}.${name}`);
    return found as FieldsOf<R>;
  };
}

/** The same with fields that may be missing. */
export function fieldsAnd<R extends Shapes, O extends Shapes>(
  required: R,
  optional: O,
): Shape<FieldsOf<R> & Partial<FieldsOf<O>>> {
  const main = fields(required);
  return (value, field) => {
    const found: Record<string, unknown> = main(value, field);
    for (const name in optional) {
      const given = own(value as Record<string, unknown>, name);
      if (given !== undefined) found[name] = optional[name]?.(given, `${field}.${name}`);
    }
    return found as FieldsOf<R> & Partial<FieldsOf<O>>;
  };
}

/** What JSON.parse names `__proto__` is a field like others, and no way to have fields that are not there. */
function own(from: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(from, name) ? from[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refuse(field: string): never {
  throw new ProtocolViolation(`a wrong ${field}`);
}
