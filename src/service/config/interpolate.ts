/** `$${` is a literal `${`; the second form takes the default for a variable that is unset or empty, as a shell does. */
const REFERENCE = /\$\$\{|\$\{(?<name>[A-Za-z_]\w*)(?::-(?<fallback>[^{}]*))?\}|(?<broken>\$\{[^}]*\}?)/gu;

export type Interpolation =
  | { readonly text: string; readonly hasReference: boolean }
  /** What is wrong with the text, ready for a message. */
  | { readonly problem: string };

/** Puts the values of environment variables into a text. What they contain is not looked into again. */
export function interpolate(text: string, environment: Readonly<Record<string, string | undefined>>): Interpolation {
  let problem: string | undefined;
  let hasReference = false;
  const replaced = text.replaceAll(REFERENCE, (match: string, ...rest: unknown[]) => {
    const { name, fallback, broken } = rest.at(-1) as Record<string, string | undefined>;
    if (broken !== undefined)
      problem ??= `${JSON.stringify(broken)} is no reference: write \${NAME}, \${NAME:-default}, or $\${ for the characters themselves`;
    if (name === undefined) return '${';
    hasReference = true;
    const value = environment[name];
    if (fallback !== undefined) return value || fallback;
    if (value === undefined)
      problem ??= `the environment variable ${name} is not set: set it, or write \${${name}:-default}`;
    return value ?? match;
  });
  return problem === undefined ? { text: replaced, hasReference } : { problem };
}
