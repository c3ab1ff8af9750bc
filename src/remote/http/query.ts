/** A path with those of the values that are there. */
export function withQuery(path: string, values: Readonly<Record<string, string | boolean | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given as [string, string][]).toString()}`;
}
