import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readFrames, SentEventReader, type SentEvent } from './sse.ts';

const TEXT =
  ': hello\n\nid: 1\nevent: output\ndata: {"text":"ä€🙂"}\n\nid: 2\r\nevent: done\r\ndata:a\r\ndata: b\r\n\r\n';
const EVENTS: readonly SentEvent[] = [
  { id: 1, event: 'output', data: '{"text":"ä€🙂"}' },
  { id: 2, event: 'done', data: 'a\nb' },
];

function readIn(pieces: readonly Buffer[]): SentEvent[] {
  const reader = new SentEventReader();
  return pieces.flatMap((piece) => [...reader.read(piece)]);
}

test('events are the same wherever their bytes are cut', () => {
  const bytes = Buffer.from(TEXT);
  for (let at = 0; at <= bytes.length; at += 1) {
    expect(readIn([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(EVENTS);
  }
  expect(readIn(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(EVENTS);
});

test('a number that is none is no number, and an event without data is none', () => {
  expect(readIn([Buffer.from('id: one\ndata: x\n\nid: 3\nevent: empty\n\ndata\n\n')])).toEqual([
    { id: undefined, event: '', data: 'x' },
    { id: undefined, event: '', data: '' },
  ]);
});

test('ten megabytes in small pieces take no time that grows with their square', () => {
  const piece = Buffer.alloc(1000, 'x');
  const begun = performance.now();
  const [event] = readIn([Buffer.from('data: '), ...Array.from({ length: 10_000 }, () => piece), Buffer.from('\n\n')]);
  expect(event?.data).toHaveLength(10_000_000);
  expect(performance.now() - begun).toBeLessThan(2000);
});

test('after the last event, the rest of the stream is let through, so that its connection can be used again', async () => {
  const stream = Readable.from([Buffer.from(TEXT), Buffer.from(': bye\n\n')]);
  const seen: SentEvent[] = [];
  for await (const event of readFrames(stream, ({ event: name }) => name === 'done')) seen.push(event);
  expect(seen).toEqual(EVENTS);
  await expect.poll(() => stream.readableEnded).toBe(true);
});

test('leaving before the last event closes the connection', async () => {
  const stream = Readable.from([Buffer.from(TEXT), Buffer.from(': bye\n\n')]);
  for await (const _ of readFrames(stream, ({ event: name }) => name === 'done')) break;
  expect(stream.destroyed).toBe(true);
});

test('a stream that breaks is an error', async () => {
  const stream = new Readable({ read: () => undefined });
  const reading = readFrames(stream, () => false).next();
  stream.destroy(new Error('cut'));
  await expect(reading).rejects.toThrow('cut');
});
