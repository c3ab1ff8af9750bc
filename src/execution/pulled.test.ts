import { expect, test } from 'vitest';
import type { Event, Listener, Summary } from './event.ts';
import { pulled } from './pulled.ts';

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

test('what is told is pulled in order, and the end comes last', async () => {
  const events = await Array.fromAsync(
    pulled(async (hear) => {
      for (const text of ['a', 'b', 'c']) await hear(output(text));
      return SUMMARY;
    }),
  );
  expect(events).toEqual([output('a'), output('b'), output('c'), { type: 'done', summary: SUMMARY }]);
});

test('it begins with the first pull, and an event counts as heard when the next one is asked for', async () => {
  const steps: string[] = [];
  const events = pulled(async (hear) => {
    steps.push('begun');
    await hear(output('a'));
    steps.push('heard');
    return SUMMARY;
  });
  expect(steps).toEqual([]);
  await events.next();
  await Promise.resolve();
  expect(steps).toEqual(['begun']);
  await events.next();
  expect(steps).toEqual(['begun', 'heard']);
});

test('who leaves early fails the teller, and waits until it has ended', async () => {
  const steps: string[] = [];
  const run = async (hear: Listener): Promise<Summary> => {
    try {
      await hear(output('a'));
    } finally {
      await new Promise(setImmediate);
      steps.push('stopped');
    }
    return SUMMARY;
  };
  for await (const event of pulled(run)) {
    expect(event).toEqual(output('a'));
    break;
  }
  expect(steps).toEqual(['stopped']);
});

test('what goes wrong is thrown to who pulls, and to who leaves', async () => {
  const error = new Error('broken');
  await expect(Array.fromAsync(pulled(() => Promise.reject(error)))).rejects.toBe(error);
  const leaving = async (): Promise<void> => {
    const run = async (hear: Listener): Promise<Summary> => {
      await Promise.resolve(hear(output('a'))).catch(() => undefined);
      throw error;
    };
    for await (const _ of pulled(run)) break;
  };
  await expect(leaving()).rejects.toBe(error);
});
