import { expect, test } from 'vitest';
import type { Event, Listener, Summary } from './event.ts';
import { streamEvents } from './event-stream.ts';

const SUMMARY: Summary = {
  id: '1',
  sessionId: 's',
  outcome: { status: 'succeeded' },
  dataframes: [],
  state: { status: 'preserved', generation: 1, variables: { added: [], changed: [], removed: [] } },
  durationMs: 1,
  isolation: { level: 'none' } as Summary['isolation'],
  outputBytes: { stdout: 0, stderr: 0 },
  mayHaveWritten: false,
};

function output(text: string): Event {
  return { type: 'output', stream: 'stdout', text };
}

test('events come in order, and the end comes last', async () => {
  const events = await Array.fromAsync(
    streamEvents(async (listener) => {
      for (const text of ['a', 'b', 'c']) await listener(output(text));
      return SUMMARY;
    }),
  );
  expect(events).toEqual([output('a'), output('b'), output('c'), { type: 'done', summary: SUMMARY }]);
});

test('it begins with the first pull, and an event counts as received when the next one is asked for', async () => {
  const steps: string[] = [];
  const events = streamEvents(async (listener) => {
    steps.push('begun');
    await listener(output('a'));
    steps.push('received');
    return SUMMARY;
  });
  expect(steps).toEqual([]);
  await events.next();
  await Promise.resolve();
  expect(steps).toEqual(['begun']);
  await events.next();
  expect(steps).toEqual(['begun', 'received']);
});

test('who leaves early fails the teller, and waits until it has ended', async () => {
  const steps: string[] = [];
  const run = async (listener: Listener): Promise<Summary> => {
    try {
      await listener(output('a'));
    } finally {
      await new Promise(setImmediate);
      steps.push('stopped');
    }
    return SUMMARY;
  };
  for await (const event of streamEvents(run)) {
    expect(event).toEqual(output('a'));
    break;
  }
  expect(steps).toEqual(['stopped']);
});

test('what goes wrong is thrown to who pulls, and to who leaves', async () => {
  const error = new Error('broken');
  await expect(Array.fromAsync(streamEvents(() => Promise.reject(error)))).rejects.toBe(error);
  const leaving = async (): Promise<void> => {
    const run = async (listener: Listener): Promise<Summary> => {
      await Promise.resolve(listener(output('a'))).catch(() => undefined);
      throw error;
    };
    for await (const _ of streamEvents(run)) break;
  };
  await expect(leaving()).rejects.toBe(error);
});
