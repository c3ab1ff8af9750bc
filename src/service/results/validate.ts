import type { Json } from '../../execution/execution.ts';
import { describeActual, type ResultTypes } from './actual-type.ts';
import { parseExpectedType } from './expected-type.ts';
import { couldBe } from './match.ts';
import { matches } from './match.ts';
import { cutParts, toRecord, withPlainMoments } from './encoded.ts';

/** What a run put into `results`, held against what was asked for. */
export interface ResultsVerdict {
  /** Null when `results` is no dictionary. */
  readonly results: Readonly<Record<string, Json>> | null;
  /** Each a sentence that tells the next generation what to do. None: the results are as expected. */
  readonly problems: readonly string[];
  /** What could not be checked or did not fit; no reason to fail. */
  readonly notes: readonly string[];
}

const MAX_PROBLEMS = 20;
const STORE = 'Store what the task asks for in a dictionary named `results`, at the top level of the code';

export interface Known {
  /** The real ones, if Python told; without them only what the encoded values show can be checked. */
  readonly types?: ResultTypes | undefined;
  /** What there is room for, to be told. */
  readonly maxMb?: number;
}

/** Checks the encoded value of `results`: undefined when there is no such variable. */
export function validateResults(
  value: Json | undefined,
  expected: Readonly<Record<string, string>>,
  { types, maxMb }: Known = {},
): ResultsVerdict {
  if (value === undefined) return invalid(`The code ended without a variable \`results\`. ${STORE}.`);
  if (value === null) return invalid(`\`results\` is None. ${STORE}.`);
  const isDict = types === undefined || types.results.mro.includes('builtins.dict');
  const record = isDict ? toRecord(value) : { problem: `it is ${withArticle(types.results.type)}` };
  if ('problem' in record) return invalid(`\`results\` is not a dictionary by name: ${record.problem}. ${STORE}.`);
  const problems: string[] = [];
  const isExpected = ([name]: readonly [string, Json]): boolean => Object.hasOwn(expected, name);
  const members = Object.entries(record.members);
  const notes = cutIn(members.filter((member) => !isExpected(member))).map(
    (path) => `${path} is too large and is cut.`,
  );
  problems.push(...cutIn(members.filter(isExpected)).map((path) => `${path} is too large: ${roomFor(maxMb)}.`));
  for (const [name, type] of Object.entries(expected)) {
    const finding = check(name, type, record.members, types);
    if ('problem' in finding) problems.push(finding.problem);
    else if (finding.note !== undefined) notes.push(finding.note);
  }
  return { results: withPlainMoments(record.members), problems: bounded(problems), notes };
}

function cutIn(members: readonly (readonly [string, Json])[]): string[] {
  return members.flatMap(([name, value]) => cutParts(value, `results[${JSON.stringify(name)}]`));
}

function roomFor(maxMb: number | undefined): string {
  const room = maxMb === undefined ? 'it does not fit' : `all of \`results\` may have ${maxMb} MB as JSON`;
  return `${room}. Keep in it what the task asks for, write large data to a file in the current directory, and give its name`;
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
  if (value === undefined) return { problem: `${where} is missing; it must be there as ${typeText}.` };
  const expected = parseExpectedType(typeText);
  if (expected === undefined) return { note: `${where} is there; "${typeText}" is no type that can be checked.` };
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
