import { expect, test } from 'vitest';
import type { Event, Summary } from './event.ts';
import { foldExecution, Transcript } from './transcript.ts';

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

test('text and results keep the order in which they came', () => {
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

test('what was cleared is left out', () => {
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

const SUMMARY = { id: '1', sessionId: 's', outcome: { status: 'succeeded' } } as Summary;

/** One number after the other, at least 0 and below 1. The same seed gives the same numbers. */
function* numbersFrom(seed: number): Generator<number, never> {
  for (let state = seed; ;) yield (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

function randomEvents(seed: number, kinds: readonly Event['type'][]): Event[] {
  const numbers = numbersFrom(seed);
  const below = (limit: number): number => Math.floor(numbers.next().value * limit);
  return Array.from({ length: below(40) }, (_, index): Event => {
    switch (kinds[below(kinds.length)]) {
      case 'clear':
        return { type: 'clear' };
      case 'result':
        return show(`r${index}`);
      default:
        return print(`${'ż'.repeat(below(6))}${index};`, below(2) === 0 ? 'stdout' : 'stderr');
    }
  });
}

/** The items of a run that nothing was omitted of, by the shortest description of them. */
function modelOf(events: readonly Event[]): string[] {
  let items: { source: string; text: string }[] = [];
  for (const event of events) {
    if (event.type === 'clear') items = [];
    else if (event.type === 'result') items.push({ source: 'shown', text: event.result.data['text/plain'] ?? '' });
    else if (event.type === 'output') {
      const last = items.at(-1);
      if (last?.source === event.stream) last.text += event.text;
      else items.push({ source: event.stream, text: event.text });
    }
  }
  return items.map(({ source, text }) => `${source}: ${text}`);
}

test('random streams within their budget are told as the model says', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const events = randomEvents(seed, ['output', 'output', 'output', 'result', 'clear']);
    expect(told(events, 1 << 20), `seed ${seed}`).toEqual(modelOf(events));
  }
});

test('random streams above their budget keep every result in its place, and their text is that of the logs', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const events = randomEvents(seed, ['output', 'output', 'output', 'result']);
    const transcript = new Transcript(seed % 50);
    for (const event of events) transcript.add(event);
    transcript.add({ type: 'done', summary: SUMMARY });
    const { logs, transcript: entries, results, truncated } = transcript.execution();
    for (const stream of ['stdout', 'stderr'] as const) {
      const texts = entries.map((entry) => (entry.type === 'text' && entry.stream === stream ? entry.text : ''));
      expect(texts.join(''), `seed ${seed}`).toBe(logs[stream]);
      const printed = events.map((event) => (event.type === 'output' && event.stream === stream ? event.text : ''));
      const totalBytes = Buffer.byteLength(printed.join(''));
      const cut = truncated?.[stream];
      expect(cut?.totalBytes ?? totalBytes).toBe(totalBytes);
      const expected =
        cut === undefined ? printed.join('') : `… ${cut.totalBytes - cut.keptBytes} bytes of output omitted …`;
      expect(logs[stream]).toContain(expected);
    }
    const indexes = entries.flatMap((entry) => (entry.type === 'result' ? [entry.index] : []));
    expect(indexes).toEqual([...results.keys()]);
    expect(entries.map(({ timeMs }) => timeMs)).toEqual(entries.map(({ timeMs }) => timeMs).toSorted((a, b) => a - b));
  }
});

test('a run that clears, and prints nothing, has only what it showed since', () => {
  expect(told([show('x'), { type: 'clear' }])).toEqual([]);
  expect(told([show('x'), { type: 'clear' }, show('y')])).toEqual(['shown: y']);
});

test('what was cleared is still in the logs, which keep all output', async () => {
  const execution = await foldExecution(
    (async function* (): AsyncGenerator<Event, void, undefined> {
      yield* [print('a'), { type: 'clear' } as const, print('b'), { type: 'done', summary: SUMMARY } as const];
    })(),
    100,
  );
  expect(execution.logs).toEqual({ stdout: 'ab', stderr: '' });
  expect(execution.transcript).toMatchObject([{ type: 'text', text: 'b' }]);
});

test('files and figures are listed in the order in which they came, and are no part of the text', () => {
  const transcript = new Transcript(100);
  const file = (path: string) => ({ path, sizeBytes: 1, mime: 'text/plain', change: 'created' }) as const;
  const figure = { mime: 'image/png', sizeBytes: 3, result: 0 };
  transcript.add({ type: 'file', file: file('b') });
  transcript.add(print('text'));
  transcript.add({ type: 'figure', figure });
  transcript.add({ type: 'file', file: file('a') });
  transcript.add({ type: 'done', summary: SUMMARY });
  const execution = transcript.execution();
  expect(execution.files.map(({ path }) => path)).toEqual(['b', 'a']);
  expect(execution.figures).toEqual([figure]);
  expect(execution.transcript).toHaveLength(1);
});

test('what only engines need of a summary is not part of an execution', () => {
  const transcript = new Transcript(100);
  const inner = { outputBytes: { stdout: 1, stderr: 0 }, mayHaveWritten: true, savedFigures: [{ path: 'a.png' }] };
  const missing = { dropped: 'the listener was slow', unseenFiles: 7 };
  transcript.add({ type: 'done', summary: { ...SUMMARY, ...inner, ...missing } });
  const execution = transcript.execution();
  for (const key of Object.keys({ ...inner, ...missing })) expect(execution).not.toHaveProperty(key);
  expect(execution.truncated).toEqual({ dropped: 'the listener was slow', files: 7 });
});

test('a run of which nothing is missing is not called truncated', () => {
  const transcript = new Transcript(100);
  transcript.add(print('whole'));
  transcript.add({ type: 'done', summary: SUMMARY });
  expect(transcript.execution()).not.toHaveProperty('truncated');
});

test('a stream that ends without its end is an error of the engine', async () => {
  async function* cutOff(): AsyncGenerator<Event, void, undefined> {
    yield await Promise.resolve(print('a'));
  }
  await expect(foldExecution(cutOff(), 100)).rejects.toThrow('without `done`');
});
