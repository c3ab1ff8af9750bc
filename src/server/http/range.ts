import { HttpError } from './errors.ts';

/** A part of a content: its first and its last byte. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** The part that a `Range` header asks for. Undefined: all of it, as for several parts, which may be answered that way. */
export function readRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  const match = /^bytes=(?<first>\d{0,15})-(?<last>\d{0,15})$/.exec(header ?? '');
  const { first = '', last = '' } = match?.groups ?? {};
  if (first === '' && last === '') return undefined;
  const range =
    first === ''
      ? { first: Math.max(0, sizeBytes - Number(last)), last: sizeBytes - 1 }
      : { first: Number(first), last: Math.min(last === '' ? Infinity : Number(last), sizeBytes - 1) };
  if (last !== '' && first !== '' && Number(last) < Number(first)) return undefined; // not a range
  if (range.first <= range.last) return range;
  throw new HttpError(
    416,
    'REQUEST_INVALID',
    `The range ${header} is outside of the content, which has ${sizeBytes} bytes.`,
  );
}

/** The part of a stream. What comes before it is read and dropped. */
export async function* partOf(
  chunks: AsyncIterable<Uint8Array>,
  { first, last }: ByteRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  let position = 0;
  for await (const chunk of chunks) {
    const from = Math.max(0, first - position);
    const to = Math.min(chunk.length, last + 1 - position);
    if (from < to) yield chunk.subarray(from, to);
    position += chunk.length;
    if (position > last) return;
  }
}
