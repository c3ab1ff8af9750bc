/** The table of escape attempts, read from the Python files that hold them. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ATTEMPTS = path.join(import.meta.dirname, 'attempts');
/** How long attempts that are made at the same time get. */
const SIEGE_S = 3;
const PROPS = path.join(import.meta.dirname, 'props');

/** Who decides whether an attempt got out: its own word, or a look from outside. */
export const JUDGES = [
  ...(['word', 'fresh', 'canary', 'listener', 'close', 'leftover', 'output', 'removed', 'randomness'] as const),
  ...([
    'survival',
    'unprotected',
    'prototype',
    'memory',
    'crash',
    'told',
    'stall',
    'nested',
    'mounted',
    'link',
    'signalled',
  ] as const),
];
export type Judge = (typeof JUDGES)[number];

export interface Attempt {
  /** Its file and its function. */
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly description: string;
  readonly judge: Judge;
  /** What it takes to succeed without walls, besides an ordinary user on Linux. */
  readonly needs: string | null;
  /** Why it is not tried without walls, if so. */
  readonly notRun: string | null;
  /** The only thing that can hold it; where that is missing, it is known to get out. */
  readonly guard: string | null;
  /** Its run has only a short time. */
  readonly isHurried: boolean;
}

/** What a program knows of the machine; everything that an attacker might have found out. */
export type Host = Readonly<Record<string, unknown>>;

export const attempts: readonly Attempt[] = globSync('*.py', { cwd: ATTEMPTS }).toSorted().flatMap(readGroup);

/** The program of an attempt; the same text inside and outside of the walls. */
export function programOf(attempt: Attempt, host: Host): string {
  const text = readFileSync(path.join(ATTEMPTS, `${attempt.group}.py`), 'utf8');
  if (/^BARE = True$/m.test(text)) return bareProgram(attempt, text);
  return `${introduce(host)}${text}\n\nreport(${attempt.name})\n`;
}

/** A program that makes several attempts at the same time, each in a process of its own. */
export function programOfAll(chosen: readonly Attempt[], host: Host): string {
  const groups = [...new Set(chosen.map(({ group }) => group))];
  const texts = groups.map((group) => readFileSync(path.join(ATTEMPTS, `${group}.py`), 'utf8'));
  const names = chosen.map(({ name }) => name).join(', ');
  const start = `for each in (${names}):\n    if os.fork() == 0:\n        try:\n            each()\n        finally:\n            os._exit(0)`;
  return `${introduce(host)}${texts.join('\n\n')}\n\n${start}\ntime.sleep(${SIEGE_S})\n`;
}

/** Only the function: a program that touches as little memory as it can. */
function bareProgram({ name }: Attempt, text: string): string {
  const start = text.indexOf(`def ${name}():`);
  const end = text.indexOf('\n\n\n', start);
  return `${text.slice(start, end < 0 ? undefined : end)}\nprint("ESCAPED" if ${name}() else "CONTAINED")\n`;
}

/** A program that prints every kind of frame that attempts forge. */
export function framesProgram(): string {
  const text = readFileSync(path.join(ATTEMPTS, 'protocol.py'), 'utf8');
  return `${introduce({ syscalls: {} })}${text}\n\nprint(json.dumps(well_formed()))\n`;
}

/** A program of the props folder: its text, then `lines`. */
export function programWith(props: readonly string[], host: Host, lines: string): string {
  return `${introduce(host)}${props.map(readProp).join('\n')}\n\n${lines}\n`;
}

function introduce(host: Host): string {
  const literal = JSON.stringify(JSON.stringify(host)); // a string in JSON is a string in Python
  return `import json\n\nHOST = json.loads(${literal})\n\n${readProp('prelude')}\n`;
}

function readProp(name: string): string {
  return readFileSync(path.join(PROPS, `${name}.py`), 'utf8');
}

function readGroup(file: string): Attempt[] {
  const text = readFileSync(path.join(ATTEMPTS, file), 'utf8');
  const group = path.basename(file, '.py');
  const notRun = /^UNCONFINED = "(.*)"$/m.exec(text)?.[1] ?? null;
  const found = text.matchAll(/^@attempt(?:\((.*)\))?\ndef (\w+)\(\):\n {4}"""(.*)"""$/gm);
  return [...found].map(([, notes = '', name = '', description = '']) => ({
    id: `${group}/${name}`,
    group,
    name,
    description,
    judge: parseJudge(note(notes, 'judge') ?? 'word'),
    needs: note(notes, 'needs'),
    notRun: note(notes, 'unconfined') ?? notRun,
    guard: note(notes, 'guard'),
    isHurried: notes.includes('hurried=True'),
  }));
}

function note(notes: string, name: string): string | null {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(notes)?.[1] ?? null;
}

function parseJudge(text: string): Judge {
  const judge = JUDGES.find((known) => known === text);
  if (judge === undefined) throw new TypeError(`unknown judge: ${text}`);
  return judge;
}
