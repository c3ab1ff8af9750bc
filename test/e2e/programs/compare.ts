/** Finds what differs between what a program said in a session and in a kernel. */
import type { Said, Told } from './run.ts';

/** Something that differs. `what` is a stream, `error`, `shown`, `text`, `forms` or a variable. */
export interface Difference {
  /** Program, number of the cell (or `end`) and what differs, for example `excel-report 2 stdout`. */
  readonly where: string;
  readonly ours: string;
  readonly theirs: string;
}

/** What differs between any two runs of a program, here or there. */
const VARIED: readonly { readonly pattern: RegExp; readonly by: string; readonly because: string }[] = [
  { pattern: /\/tmp\/programs-\w+\/[\w-]+/gu, by: '/workspace', because: 'a kernel works in a directory of the test' },
  {
    pattern: /\b0x[\da-fA-F]{6,16}\b|(?<=memory:)[\da-f]{12}|\b1[34]\d{13}\b/gu,
    by: 'ADDRESS',
    because: 'objects and threads lie elsewhere in memory',
  },
  { pattern: /\/tmp\/tmp\w+/gu, by: 'TEMPORARY', because: 'names of temporary files are random' },
  {
    pattern: /<cell \d+>|\/tmp\/ipykernel_\d+\/\d+\.py|(?<=\()(?:\d+\.py|<string>|<unknown>)(?=, line)/gu,
    by: 'CELL',
    because: 'a cell is a file with a number here, and one with a hash or no name there',
  },
  {
    pattern: /\d+(?:\.\d+)?(?:e[+-]\d+)? ?(?:s|ms|[uµμ]s|ns)\b|\d+min [\d.]+ ?s|(?<=WARN:0@)[\d.]+/gu,
    by: 'TIME',
    because: 'times vary, and so do their units',
  },
  { pattern: /The slowest run took .*\n/gu, by: '', because: 'so does what %timeit says about them' },
  {
    pattern: /\d\d:\d\d<(?:\d\d:\d\d|\?), +(?:[\d.]+|\?) ?(?:\w+\/TIME|[\w ]+\/s|s\/\w+)/gu,
    by: 'PACE',
    because: 'so does the pace that tqdm tells',
  },
  { pattern: /(?<=127\.0\.0\.1:)\d+/gu, by: 'PORT', because: 'the server of the test has any free port' },
  { pattern: /pid=\d+ parent=\d+/gu, by: 'PIDS', because: 'processes have other numbers' },
  { pattern: /(?<=name='Task-)\d+/gu, by: 'N', because: 'the event loop of a kernel has tasks of its own' },
  { pattern: /(?<=display_id=)\w+/gu, by: 'ID', because: 'the ids of displays are random' },
  {
    pattern: /[\w/.-]*\/(?:lib\/python3\.\d+|site-packages)\/|<python>\/(?:lib\/python3\.\d+\/)?(?:site-packages\/)?/gu,
    by: 'PYTHON/',
    because: 'sessions do not tell where on the machine Python is',
  },
];

export function differences(name: string, ours: Told | undefined, theirs: Told | undefined): Difference[] {
  if (ours === undefined || theirs === undefined) {
    return [{ where: `${name} was not run`, ours: typeof ours, theirs: typeof theirs }];
  }
  const cells = theirs.cells.flatMap((said, index) => inCell(`${name} ${index + 1}`, ours.cells[index], said));
  return [...cells, ...inVariables(`${name} end`, ours.last, theirs.last)];
}

function inCell(place: string, ours: Said | undefined, theirs: Said): Difference[] {
  if (ours === undefined) return [{ where: `${place} missing`, ours: '', theirs: '' }];
  const found = [
    compared(`${place} stdout`, plainText(ours.stdout), plainText(theirs.stdout)),
    compared(`${place} stderr`, plainText(ours.stderr), plainText(theirs.stderr)),
    compared(`${place} error`, errorText(ours), errorText(theirs)),
    compared(`${place} shown`, ours.order.join(' '), theirs.order.join(' ')),
  ];
  if (ours.shown.length === theirs.shown.length) {
    for (const [index, { data }] of theirs.shown.entries()) {
      const our = ours.shown[index]?.data ?? {};
      found.push(
        compared(`${place} text`, plainText(String(our['text/plain'])), plainText(String(data['text/plain']))),
      );
      found.push(
        compared(`${place} forms`, Object.keys(our).toSorted().join(' '), Object.keys(data).toSorted().join(' ')),
      );
    }
  }
  return found.filter((one) => one !== null);
}

function inVariables(place: string, ours: Said, theirs: Said): Difference[] {
  const [our, their] = [ours, theirs].map((said) => JSON.parse(said.stdout || '{}') as Record<string, string>);
  const names = [...new Set([...Object.keys(their ?? {}), ...Object.keys(our ?? {})])];
  const found = names.map((name) =>
    compared(`${place} ${name}`, plainText(our?.[name] ?? '(none)'), plainText(their?.[name] ?? '(none)')),
  );
  return found.filter((one) => one !== null);
}

function compared(where: string, ours: string, theirs: string): Difference | null {
  return ours === theirs ? null : { where, ours, theirs };
}

function errorText({ error }: Said): string {
  return error === null ? '' : plainText(`${error.name}: ${error.value}`);
}

function plainText(text: string): string {
  let plain = text;
  for (const { pattern, by } of VARIED) plain = plain.replaceAll(pattern, by);
  return plain;
}
