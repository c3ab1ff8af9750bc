import { expect, test } from 'vitest';
import { partOf, readRange } from './range.ts';

test.for([
  ['bytes=0-3', { first: 0, last: 3 }],
  ['bytes=4-', { first: 4, last: 9 }],
  ['bytes=-3', { first: 7, last: 9 }],
  ['bytes=-99', { first: 0, last: 9 }],
  ['bytes=5-99', { first: 5, last: 9 }],
  ['bytes=9-9', { first: 9, last: 9 }],
  [undefined, undefined],
  ['bytes=-', undefined],
  ['bytes=5-2', undefined],
  ['bytes=0-1,3-4', undefined],
  ['lines=0-1', undefined],
  ['bytes=a-b', undefined],
] as const)('%s of ten bytes', ([header, range]) => {
  expect(readRange(header, 10)).toEqual(range);
});

test.for([
  ['bytes=10-', 10],
  ['bytes=-0', 10],
  ['bytes=0-0', 0],
] as const)('%s of %i bytes cannot be had', ([header, sizeBytes]) => {
  expect(() => readRange(header, sizeBytes)).toThrow(expect.objectContaining({ status: 416, code: 'REQUEST_INVALID' }));
});

async function* chunks(): AsyncGenerator<Uint8Array> {
  for (const text of ['abc', '', 'def', 'ghij']) yield Buffer.from(text);
}

test.for([
  [{ first: 0, last: 9 }, 'abcdefghij'],
  [{ first: 2, last: 3 }, 'cd'],
  [{ first: 3, last: 5 }, 'def'],
  [{ first: 9, last: 9 }, 'j'],
] as const)('the part %o of a stream', async ([range, text]) => {
  expect(Buffer.concat(await Array.fromAsync(partOf(chunks(), range))).toString()).toBe(text);
});
