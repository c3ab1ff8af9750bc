import { expect, test } from 'vitest';
import type { Event, Summary } from './event.ts';
import { Transcript } from './transcript.ts';

const print = (text: string, stream: 'stdout' | 'stderr' = 'stdout'): Event => ({ type: 'output', stream, text });
const show = (text: string): Event => ({ type: 'result', result: { kind: 'display', data: { 'text/plain': text } } });

function told(events: readonly Event[], maxBytes = 1000): string[] {
  const transcript = new Transcript(maxBytes);
  for (const event of events) transcript.add(event);
  return transcript
    .items()
    .map((item) =>
      item.type === 'text' ? `${item.stream}: ${item.text}` : `shown: ${item.result.data['text/plain']}`,
    );
}

test('text and results are told in the order in which they came', () => {
  const events = [
    print('a'),
    print('b'),
    show('x'),
    print('c'),
    print('oh', 'stderr'),
    print('d'),
    show('y'),
    show('z'),
  ];
  expect(told(events)).toEqual([
    'stdout: ab',
    'shown: x',
    'stdout: c',
    'stderr: oh',
    'stdout: d',
    'shown: y',
    'shown: z',
  ]);
});

test('what was cleared is not told', () => {
  expect(told([print('a'), show('x'), { type: 'clear' }, print('b'), show('y')])).toEqual(['stdout: b', 'shown: y']);
});

test('of much output the head and the tail stay where they were', () => {
  const items = told([print('head'), show('x'), print('lots'.repeat(100)), show('y'), print('tail')], 20);
  const lots = 'stdout: lotslo\n… 388 bytes of output omitted …\ntslots';
  expect(items).toEqual(['stdout: head', 'shown: x', lots, 'shown: y', 'stdout: tail']);
});

test('an execution has text and the places of its results in order, each with its time', () => {
  const before = Date.now();
  const transcript = new Transcript(1000);
  for (const event of [
    print('a'),
    show('lost'),
    { type: 'clear' },
    print('b'),
    show('x'),
    print('oh', 'stderr'),
    show('y'),
  ]) {
    transcript.add(event as Event);
  }
  transcript.items(); // asking before the end changes nothing
  transcript.add(print('end'));
  transcript.add({ type: 'done', summary: {} as Summary });
  const { results, transcript: entries, logs } = transcript.execution();
  expect(entries).toMatchObject([
    { type: 'text', stream: 'stdout', text: 'b' },
    { type: 'result', index: 0 },
    { type: 'text', stream: 'stderr', text: 'oh' },
    { type: 'result', index: 1 },
    { type: 'text', stream: 'stdout', text: 'end' },
  ]);
  expect(results.map(({ data }) => data['text/plain'])).toEqual(['x', 'y']);
  expect(logs.stdout).toBe('abend');
  for (const { timeMs } of entries) expect(timeMs).toBeGreaterThanOrEqual(before);
});
