import type { Json } from '../../execution/execution.ts';
import { describeActual, type ResultTypes } from './actual-type.ts';
import { parseExpectedType } from './expected-type.ts';
import { couldBe } from './match.ts';
import { matches } from './match.ts';
import { membersOf, truncatedPaths, withPlainDates } from './encoded.ts';

/** The `results` of a run, checked against what the request expects. */
export interface ResultsVerdict {
  /** Null if `results` is not a dictionary. */
  readonly results: Readonly<Record<string, Json>> | null;
  /** Sentences for the next generation. Empty if the results are as expected. */
  readonly problems: readonly string[];
  /** What could not be checked or was truncated. Not a reason to fail. */
  readonly notes: readonly string[];
}

const MAX_PROBLEMS = 20;
const STORE = 'Store what the task asks for in a dictionary named `results`, at the top level of the code';

export interface ResultFacts {
  /** The types that Python reported. Without them, only the encoded values can be checked. */
  readonly types?: ResultTypes | undefined;
  /** The size limit, for messages. */
  readonly maxMb?: number;
}

/** Checks the encoded value of `results`, which is undefined if there is no such variable. */
export function validateResults(
  value: Json | undefined,
  expected: Readonly<Record<string, string>>,
  { types, maxMb }: ResultFacts = {},
): ResultsVerdict {
  if (value === undefined) return invalid(`The code ended without a variable \`results\`. ${STORE}.`);
  if (value === null) return invalid(`\`results\` is None. ${STORE}.`);
  const isDict = types === undefined || types.results.mro.includes('builtins.dict');
  const record = isDict ? membersOf(value) : { problem: `it is ${withArticle(types.results.type)}` };
  if ('problem' in record) return invalid(`\`results\` is not a dictionary by name: ${record.problem}. ${STORE}.`);
  const problems: string[] = [];
  const isExpected = ([name]: readonly [string, Json]): boolean => Object.hasOwn(expected, name);
  const members = Object.entries(record.members);
  const notes = truncatedIn(members.filter((member) => !isExpected(member))).map(
    (path) => `${path} is too large and was truncated.`,
  );
  problems.push(...truncatedIn(members.filter(isExpected)).map((path) => `${path} is too large: ${roomFor(maxMb)}.`));
  for (const [name, type] of Object.entries(expected)) {
    const finding = check(name, type, record.members, types);
    if ('problem' in finding) problems.push(finding.problem);
    else if (finding.note !== undefined) notes.push(finding.note);
  }
  return { results: withPlainDates(record.members), problems: bounded(problems), notes };
}

function truncatedIn(members: readonly (readonly [string, Json])[]): string[] {
  return members.flatMap(([name, value]) => truncatedPaths(value, `results[${JSON.stringify(name)}]`));
}

function roomFor(maxMb: number | undefined): string {
  const room = maxMb === undefined ? 'it does not fit' : `all of \`results\` may be ${maxMb} MB as JSON`;
  return `${room}. Keep only what the task asks for in it, write large data to a file in the current directory, and return the file name`;
}

type TypeCheck = { readonly problem: string } | { readonly note?: string };

function check(
  name: string,
  typeText: string,
  members: Readonly<Record<string, Json>>,
  types: ResultTypes | undefined,
): TypeCheck {
  const where = `results[${JSON.stringify(name)}]`;
  const value = Object.hasOwn(members, name) ? members[name] : undefined;
  if (value === undefined) return { problem: `${where} is missing; it must be ${typeText}.` };
  const expected = parseExpectedType(typeText);
  if (expected === undefined) return { note: `${where} exists, but "${typeText}" is not a type that can be checked.` };
  const actual = types && Object.hasOwn(types.names, name) ? types.names[name] : undefined;
  if (actual === undefined) {
    return couldBe(expected, value)
      ? {}
      : { problem: `${where} is ${withArticle(describeJson(value))}, expected ${typeText}.` };
  }
  return matches(expected, actual)
    ? {}
    : { problem: `${where} is ${withArticle(describeActual(actual))}, expected ${typeText}.` };
}

function invalid(problem: string): ResultsVerdict {
  return { results: null, problems: [problem], notes: [] };
}

function bounded(problems: readonly string[]): readonly string[] {
  if (problems.length <= MAX_PROBLEMS) return problems;
  return [
    ...problems.slice(0, MAX_PROBLEMS),
    `There are ${problems.length - MAX_PROBLEMS} more problems of this kind.`,
  ];
}

function withArticle(type: string): string {
  if (type === 'None') return type;
  return `${/^[aeiou]/i.test(type) ? 'an' : 'a'} ${type}`;
}

function describeJson(value: Json): string {
  if (value === null) return 'None';
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'object') return { string: 'str', number: 'number', boolean: 'bool' }[typeof value as 'string'];
  const tag = (value as Readonly<Record<string, Json>>)['_type'];
  return typeof tag === 'string' ? tag : 'dict';
}
