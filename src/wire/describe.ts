/** Takes fields of schemas from elsewhere, and adds their descriptions. */
import { z } from 'zod';

type Shape = Readonly<Record<string, z.ZodType>>;
type Descriptions<S extends Shape> = { readonly [K in keyof S]: string };

/** The same fields with descriptions. The compiler demands one for each. */
export function describeFields<S extends Shape>(shape: S, descriptions: Descriptions<S>): S {
  const described = Object.entries(shape).map(([name, field]) => [name, field.describe(descriptions[name] ?? '')]);
  return Object.fromEntries(described) as S;
}

/** A field without its default, and required. */
type Bare<T> = T extends z.ZodDefault<infer U> | z.ZodPrefault<infer U> | z.ZodOptional<infer U> ? Bare<U> : T;
type Sendable<S extends Shape> = { [K in keyof S]: z.ZodExactOptional<Bare<S[K]> & z.ZodType> };

/**
 * The same fields with descriptions, each of which may be left out. A default is mentioned in the JSON Schema but not
 * filled in: the host that gets the options decides what is left out, by its own settings.
 */
export function optionalFields<S extends Shape>(shape: S, descriptions: Descriptions<S>): Sendable<S> {
  const fields = Object.entries(shape).map(([name, field]) => {
    const { bare, ...defaults } = takeApart(field);
    return [name, bare.exactOptional().meta({ description: descriptions[name] ?? '', ...defaults })];
  });
  return Object.fromEntries(fields) as Sendable<S>;
}

function takeApart(field: z.ZodType): { readonly bare: z.ZodType; readonly default?: unknown } {
  if (field instanceof z.ZodOptional) return takeApart(field.unwrap() as z.ZodType);
  if (field instanceof z.ZodDefault)
    return { ...takeApart(field.unwrap() as z.ZodType), default: field.def.defaultValue };
  if (field instanceof z.ZodPrefault) return takeApart(field.unwrap() as z.ZodType);
  return { bare: field };
}
