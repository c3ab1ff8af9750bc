/** What a run printed and showed, in the order of the program, within the room that each kind of it has. */
import type { Execution } from '../execution/execution.ts';
import { headOf, shorten, tailOf } from './excerpt.ts';
import { describeResult, isArtist } from './result-text.ts';
import { settleAll } from './settled.ts';
import { foldTraceback, hideHostPaths } from './traceback.ts';
import { escapeControls } from './visible.ts';

/** The share of one part, so that a long output cannot displace the error. */
export const SHARE = 0.6;
/** The share of each stream if there are two, which leaves room for results. */
export const STREAM_SHARE = 0.4;
const STREAMS = ['stdout', 'stderr'] as const;
const TRACEBACK = 'Traceback (most recent call last):';

type Stream = (typeof STREAMS)[number];
type Source = Stream | 'shown';

interface Part {
  readonly source: Source;
  readonly text: string;
}

/** The part of an execution that this is about. */
type Shown = Pick<Execution, 'transcript' | 'results' | 'figures'>;

/** `extra` is told after everything else that was shown, and shares its room. What `noteOn` says is told below a stream. */
export function orderOutput(
  execution: Shown,
  maxChars: number,
  extra: readonly string[],
  noteOn: (stream: Stream, isCut: boolean) => string,
): string[] {
  const parts = [...partsOf(execution, maxChars), ...extra.map((text): Part => ({ source: 'shown', text }))];
  const streams = STREAMS.filter((stream) => parts.some(({ source }) => source === stream));
  const share = maxChars * (streams.length > 1 ? STREAM_SHARE : SHARE);
  let kept: readonly (Part | null)[] = parts;
  let room = maxChars;
  for (const stream of streams) {
    const { parts: rest, isCut, length } = cutSource(kept, stream, share);
    room -= length;
    kept = withNote(rest, stream, noteOn(stream, isCut));
  }
  return render(cutSource(kept, 'shown', Math.max(room, 0)).parts);
}

function partsOf(execution: Shown, maxChars: number): Part[] {
  const texts = new Map(STREAMS.map((stream) => [stream, textsOf(execution, stream).values()]));
  const results = resultsOf(execution, maxChars);
  return execution.transcript
    .map((entry): Part => {
      if (entry.type === 'result') return { source: 'shown', text: results.get(entry.index) ?? '' };
      return { source: entry.stream, text: texts.get(entry.stream)?.next().value ?? '' };
    })
    .filter(({ text }) => text.trim() !== '');
}

/** The texts of one stream. Only stderr has paths that nobody asked for: a program may print a path in order to use it. */
function textsOf({ transcript, figures }: Shown, stream: Stream): string[] {
  const texts = transcript.flatMap((entry) => (entry.type === 'text' && entry.stream === stream ? [entry.text] : []));
  return settleAll(texts).map((settled) => {
    const text = escapeControls(settled);
    const folded = text.includes(TRACEBACK) ? foldTraceback(text) : text;
    if (stream === 'stderr') return hideHostPaths(folded);
    return figures.length > 0 ? withoutArtists(folded) : folded;
  });
}

/** Some tools print the value of every line. */
function withoutArtists(text: string): string {
  return text
    .split('\n')
    .filter((line) => !isArtist(line))
    .join('\n');
}

/** Only the first and the last results can have room, however many there are, so the others are not looked at. */
function resultsOf(execution: Shown, maxChars: number): ReadonlyMap<number, string> {
  const { results } = execution;
  const told = new Map<number, string>();
  let [first, end] = [0, results.length];
  for (let room = maxChars; first < end && room > 0; first += 1) room -= tell(first);
  for (let room = maxChars; first < end && room > 0; end -= 1) room -= tell(end - 1);
  if (first < end) told.set(first, `… ${end - first} results omitted …`);
  return told;

  function tell(index: number): number {
    const result = results[index];
    const text = result === undefined ? '' : shorten(describeResult(result, index, execution), maxChars * SHARE);
    told.set(index, text);
    return 1 + text.length;
  }
}

interface CutSource {
  readonly parts: readonly (Part | null)[];
  readonly isCut: boolean;
  readonly length: number;
}

/** Keeps the head and the tail of everything that came from one source, and says between them what is missing. */
function cutSource(all: readonly (Part | null)[], source: Source, maxChars: number): CutSource {
  const own = all.filter((part) => part?.source === source);
  const gap = source === 'shown' ? 1 : 0; // they stand on lines of their own
  const total = own.reduce((sum, part) => sum + (part?.text.length ?? 0) + gap, -gap);
  const last = own.at(-1);
  const blank = gap === 0 && last ? last.text.length - last.text.trimEnd().length : 0;
  if (total - blank <= maxChars) return { parts: all, isCut: false, length: Math.max(total, 0) };
  const half = Math.floor(maxChars / 2);
  const [from, to] = [half, total - blank - half];
  let at = 0;
  let isMarked = false;
  const parts = all.map((part): Part | null => {
    if (part?.source !== source) return part;
    const [start, end] = [at, at + part.text.length];
    at = end + gap;
    if (end <= from || start >= to) return part;
    const head = headOf(part.text, Math.max(0, from - start));
    const tail = tailOf(part.text, Math.max(0, end - to));
    const mark = isMarked ? '' : `\n… ${to - from} characters omitted …\n`;
    isMarked = true;
    const text = `${head}${mark}${tail}`.replace(/^\n/u, '');
    return text === '' ? null : { source, text };
  });
  return { parts, isCut: true, length: maxChars };
}

function withNote(parts: readonly (Part | null)[], stream: Stream, note: string): readonly (Part | null)[] {
  const index = parts.findLastIndex((part) => part?.source === stream);
  const last = parts[index];
  if (note === '' || !last) return parts;
  return parts.with(index, { ...last, text: `${last.text.trimEnd()}\n${note}` });
}

/** Text is that of stdout unless a line above says otherwise. */
function render(parts: readonly (Part | null)[]): string[] {
  let current: Source = 'stdout';
  return parts.flatMap((part) => {
    const text = part?.text.trimEnd() ?? '';
    if (part === null || text === '') return [];
    const isClear = part.source === current || (part.source === 'shown' && (current === 'stdout' || isOurs(text)));
    if (part.source !== 'shown') current = part.source;
    else if (!isClear) current = 'stdout';
    return isClear ? [text] : [`[${part.source === 'shown' ? 'result' : part.source}]`, text];
  });
}

/** A line such as `[figure]` cannot be taken for output. */
function isOurs(text: string): boolean {
  return /^\[(?:figure|table|files|results)\b[^\n]*\]$/u.test(text);
}
