/** Tracebacks for a reader who knows the program and not the machine: frames of libraries are counted, not shown. */
import { listSome } from './excerpt.ts';

const MAX_PACKAGES = 3;
/** The beginning of a path: no other one goes on here. */
const ROOT = String.raw`(?<![\w.~/-])~?(?:\/(?!\/)[^\s"'<>|:*?]*?)?`;
/** The directories in which Python finds libraries, wherever it is installed, and the one of our own code. */
const LIBRARIES = new RegExp(
  String.raw`(?:<python>|${ROOT})(?:\/lib(?:64)?\/python3(?:\.\d{1,3})?\/(?:(?:site|dist)-packages\/)?|\/(?=_vivarium\/))`,
  'gu',
);
/** The workspace of a session without a root of its own. It is the current directory. */
const WORKSPACE = new RegExp(String.raw`${ROOT}\/sessions\/[\w.-]+\/[\w.-]+\/workspace\/`, 'gu');
/** A line of Python's own tracebacks. The mark stands before those of a group of exceptions. */
const FRAME = /^(?<mark>(?: *\| )?) {2}File "(?<file>[^"\n]*)", line \d+, in (?<where>.*)$/u;
/** A line of IPython's tracebacks. The frame goes on to the next empty line. */
const IPYTHON_FRAME = /^File (?<file>\S+?):\d+, in (?<where>.*)$/u;
const REPEATED = /^(?: *\| )? {2}\[Previous line repeated (\d+) more times?\]$/u;
/** Code of a library that was compiled from Cython names no directory, or one of its sources. */
const COMPILED = /^[^/].*\.p(?:yx|xi)$/u;

/** What Python writes between an exception and the one that came of it. */
const LINK =
  /\n\n(The above exception was the direct cause of the following exception:|During handling of the above exception, another exception occurred:)\n\n/u;

interface Frame {
  readonly mark: string;
  /** The package that it belongs to, unless that is the program itself. */
  readonly library: string | null;
  /** The line after its last. */
  readonly end: number;
  /** How often the same frame follows. */
  readonly repeated: number;
}

/** Names files without saying where on the machine they are: `<python>/pandas/core/frame.py`, `helper.py`. */
export function hideHostPaths(text: string): string {
  return text.replaceAll(WORKSPACE, '').replaceAll(LIBRARIES, '<python>/');
}

/** A traceback without what only the authors of libraries need. The program's own frames stay, with their source. */
export function foldTraceback(text: string): string {
  return dropCauses(foldFrames(text));
}

/**
 * Drops exceptions that libraries raised and caught, if a later one repeats what they say. Without a frame of the program
 * they tell nothing else.
 */
function dropCauses(text: string): string {
  const parts = text.split(LINK); // exceptions, with a link after each but the last
  const kept: string[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const [one = '', link] = parts.slice(at, at + 2);
    const message = messageOf(one);
    if (link !== undefined && message && (parts[at + 2] ?? '').includes(message)) continue;
    kept.push(link === undefined ? one : `${one}\n\n${link}\n\n`);
  }
  return kept.join('');
}

/** What an exception says, if all of its frames are folded. */
function messageOf(exception: string): string | null {
  return (
    /^Traceback \(most recent call last\):\n {2}… [^\n]*\n[\w.]+(?:: )?(.*)$/su.exec(exception)?.[1]?.trim() ?? null
  );
}

/** Replaces frames of libraries by their number, one line for all that follow each other. */
function foldFrames(text: string): string {
  const lines = text.split('\n');
  const kept: string[] = [];
  for (let at = 0; at < lines.length;) {
    const frame = frameAt(lines, at);
    if (frame?.library == null) {
      kept.push(...lines.slice(at, frame?.end ?? at + 1));
      at = frame?.end ?? at + 1;
      continue;
    }
    const packages = new Set<string>();
    let count = 0;
    for (let next: Frame | null = frame; next?.library != null; next = frameAt(lines, at)) {
      packages.add(next.library);
      count += 1 + next.repeated;
      at = next.end;
    }
    const frames = count === 1 ? 'frame' : 'frames';
    kept.push(`${frame.mark}  … ${count} ${frames} in ${listSome([...packages], MAX_PACKAGES)}`);
    if (lines[at - 1] === '') kept.push(''); // with which IPython's frames end
  }
  return kept.join('\n');
}

function frameAt(lines: readonly string[], at: number): Frame | null {
  const line = lines[at] ?? '';
  const own = FRAME.exec(line);
  const found = own ?? IPYTHON_FRAME.exec(line);
  if (found?.groups === undefined) return null;
  const { mark = '', file = '', where = '' } = found.groups;
  const end = own === null ? endOfParagraph(lines, at + 1) : endOfSource(lines, at + 1, `${mark}    `);
  const repeated = REPEATED.exec(lines[end] ?? '');
  return {
    mark,
    library: libraryOf(file, where),
    end: end + Number(repeated !== null),
    repeated: Number(repeated?.[1] ?? 0),
  };
}

function endOfSource(lines: readonly string[], from: number, indent: string): number {
  for (let end = from; end < lines.length; end += 1) if (!lines[end]?.startsWith(indent)) return end;
  return lines.length;
}

function endOfParagraph(lines: readonly string[], from: number): number {
  let end = from;
  while (end < lines.length && lines[end] !== '') end += 1;
  return Math.min(lines.length, end + 1);
}

function libraryOf(file: string, where: string): string | null {
  if (file.startsWith('<frozen ')) return /^<frozen (\w+)/u.exec(file)?.[1] ?? 'Python';
  if (COMPILED.test(file)) return /^\w+/u.exec(where.includes('.') ? where : file)?.[0] ?? 'Cython';
  const hidden = hideHostPaths(file);
  return /^<python>\/(?:lib-dynload\/)?(\w+)/u.exec(hidden)?.[1] ?? null;
}
