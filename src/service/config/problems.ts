import type { z } from 'zod';
import type { ConfigDocument, ConfigProblem, Path } from './document.ts';

/** The problems that a schema found, each with its full key name, its line, and the key that was probably meant. */
export function problemsOf(error: z.ZodError, document: ConfigDocument, names: readonly string[]): ConfigProblem[] {
  return error.issues.flatMap((issue): ConfigProblem[] => {
    if (issue.code !== 'unrecognized_keys') return [at(issue.path, describe(issue), document)];
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      const meant = nearest(path.join('.'), names);
      return at(path, `unknown key${meant === undefined ? '' : `; did you mean ${meant}?`}`, document);
    });
  });
}

function at(path: Path, text: string, document: ConfigDocument): ConfigProblem {
  return { key: path.map(String).join('.'), line: document.lineOf(path), text };
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.path.join('.') === 'approval' && issue.code === 'invalid_type') {
    return 'this section is missing. The service does not start until the configuration says what needs approval';
  }
  if (issue.code !== 'invalid_value') return issue.message;
  return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
}

/** Longer than any key, so that a very long name is near to none. */
const MAX_COMPARED = 100;

/** The known key with the fewest differences. Keys of the same section are preferred. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const lastPart = name
    .slice(name.lastIndexOf('.') + 1)
    .slice(0, MAX_COMPARED)
    .toLowerCase();
  const scored = names.map((candidate) => {
    const candidateLast = candidate.slice(candidate.lastIndexOf('.') + 1);
    const isSibling = parentOf(candidate) === parentOf(name);
    return { candidate, score: distance(lastPart, candidateLast) + (isSibling ? 0 : 0.5) };
  });
  const best = scored.toSorted((one, other) => one.score - other.score)[0];
  return best !== undefined && best.score <= Math.max(1, lastPart.length / 3) ? best.candidate : undefined;
}

function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('.')));
}

/** How many characters must be inserted, removed or replaced. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, character] of Array.from(one).entries()) {
    const next = [index + 1];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (character === other[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
