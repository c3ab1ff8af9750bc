import { expect, test } from 'vitest';
import type { Event } from '../../execution/event.ts';
import { EventQueue } from '../event-queue.ts';
import { parseWorkerFrame, type ReportFrame, type ResultFrame } from './protocol/worker-frame.ts';
import { RunResults } from './results.ts';

function frame(header: object): ResultFrame {
  const whole = { type: 'result', id: '1', kind: 'display', data: { 'text/plain': 'x' }, ...header };
  return parseWorkerFrame({ header: whole, payload: Buffer.alloc(0), size: 0, cost: 0 }) as ResultFrame;
}

/** A piece of the report of a run, with JSON behind it. */
function piece(header: object, json = ''): ReportFrame {
  const payload = Buffer.from(json);
  return parseWorkerFrame({ header: { id: '1', ...header }, payload, size: payload.length, cost: 1 }) as ReportFrame;
}

const lists = (count: number): string => `[${'[],'.repeat(count)}0]`;

const clear = (wait = false): ResultFrame => frame({ kind: 'clear', data: {}, wait });

/** Results of a run whose listener receives at once, or not before it is released. */
function run(held?: Promise<void>): { results: RunResults; events: Event[]; queue: EventQueue<Event> } {
  const events: Event[] = [];
  const queue = new EventQueue<Event>({
    listener: (event) => {
      events.push(event);
      return held;
    },
    onPressure: () => undefined,
    onLeft: () => expect.unreachable(),
  });
  return { results: new RunResults(queue), events, queue };
}

const typesOf = (events: readonly Event[]): string[] => events.map(({ type }) => type);

test('more results than a worker ever sends break the protocol, by number and by size', () => {
  const { results } = run();
  for (let sent = 0; sent < 10_000; sent += 1) results.add(frame({}));
  expect(() => results.add(frame({}))).toThrow('10001 results of 1110111 bytes');
  const large = frame({ data: { 'text/html': 'x'.repeat(25 << 20) } });
  const other = run().results;
  other.add(large);
  expect(() => other.add(large)).toThrow('2 results');
});

test('what was cleared no longer counts', () => {
  const { results, events } = run();
  const large = frame({ data: { 'text/html': 'x'.repeat(25 << 20) } });
  for (let step = 0; step < 5; step += 1) {
    results.add(large);
    results.note({ total: 2, kept: 1, reduced: 0, totalBytes: 2, keptBytes: 1 });
    results.add(clear());
    expect(results.cut).toBeNull();
  }
  expect(typesOf(events).filter((type) => type === 'clear')).toHaveLength(5);
});

test('with `wait`, the output is cleared when something new comes, and not before', () => {
  const { results, events } = run();
  results.add(frame({}));
  results.add(clear(true));
  expect(typesOf(events)).toEqual(['result']);
  results.print('stdout', 'new');
  expect(typesOf(events)).toEqual(['result', 'clear', 'output']);
  results.add(clear(true));
  results.add(frame({}));
  expect(typesOf(events).slice(3)).toEqual(['clear', 'result']);
  results.add(clear(true));
  expect(events).toHaveLength(5);
});

test('a slow listener gets the last state of a progress bar, and what was printed', async () => {
  const held = Promise.withResolvers<void>();
  const { results, events, queue } = run(held.promise);
  for (let step = 0; step < 1000; step += 1) {
    results.add(clear());
    results.add(frame({ data: { 'text/plain': `${step}` } }));
    if (step % 500 === 0) results.print('stdout', `${step}\n`);
  }
  held.resolve();
  await queue.delivered();
  expect(typesOf(events)).toEqual(['clear', 'output', 'output', 'clear', 'result']);
  expect(events.at(-1)).toMatchObject({ result: { data: { 'text/plain': '999' } } });
});

test('tables, saved figures and the value are reported, in order and beside what was shown', () => {
  const { results } = run();
  const saved = { type: 'saved', path: 'a.png', title: 'A', picture: null, chartBytes: 3 };
  results.report(piece(saved, '[1]'));
  results.report(piece({ type: 'value', jsonBytes: 4 }, 'null'));
  results.add(clear());
  expect(results.reported).toEqual({
    value: { json: null },
    dataframes: [],
    saved: [{ path: 'a.png', title: 'A', chart: [1] }],
  });
});

test('what a run reports counts like what it shows, by number, by size and by what it costs to keep', () => {
  const value = piece({ type: 'value', jsonBytes: lists(30_000).length }, lists(30_000));
  const { results } = run();
  for (let sent = 0; sent < 33; sent += 1) results.report(value);
  expect(() => results.report(value)).toThrow('0 results');
  const other = run().results;
  for (let sent = 0; sent < 100; sent += 1)
    other.report(piece({ type: 'saved', path: 'a', title: null, picture: null }));
  expect(() => other.report(piece({ type: 'saved', path: 'a', title: null, picture: null }))).toThrow(
    '101 saved figures',
  );
});

test('charts are held to what they cost to keep, which is far more than their bytes', () => {
  const json = lists(70_000);
  const header = { type: 'result', id: '1', kind: 'figure', data: {}, chartBytes: json.length };
  const figure = parseWorkerFrame({ header, payload: Buffer.from(json), size: 0, cost: 0 }) as ResultFrame;
  const { results } = run();
  for (let sent = 0; sent < 14; sent += 1) results.add(figure);
  expect(() => results.add(figure)).toThrow('15 results');
});
