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

test('leaving early fails the run, and waits until it has ended', async () => {
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

test('an error of the run is thrown by `next` and by `return`', async () => {
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

test('a stream that nobody pulls never begins, even if it is left', async () => {
  let begun = 0;
  const run = (): Promise<Summary> => {
    begun += 1;
    return Promise.resolve(SUMMARY);
  };
  await streamEvents(run).return();
  await expect(streamEvents(run).throw(new Error('enough'))).rejects.toThrow('enough');
  expect(begun).toBe(0);
});

test('a run without events is its end alone', async () => {
  expect(await Array.fromAsync(streamEvents(() => Promise.resolve(SUMMARY)))).toEqual([
    { type: 'done', summary: SUMMARY },
  ]);
});

test('an event that the run does not wait for arrives before the end', async () => {
  const run = (listener: Listener): Promise<Summary> => {
    void listener(output('last words'));
    return Promise.resolve(SUMMARY);
  };
  const events = await Array.fromAsync(streamEvents(run));
  expect(events.map(({ type }) => type)).toEqual(['output', 'done']);
});

test('an error that the consumer throws stops the run and comes back unchanged', async () => {
  const error = new Error('the consumer broke');
  let hasFailed = false;
  const consume = async (): Promise<void> => {
    const run = async (listener: Listener): Promise<Summary> => {
      try {
        await listener(output('a'));
      } catch (reason) {
        hasFailed = true;
        throw reason;
      }
      return SUMMARY;
    };
    for await (const _ of streamEvents(run)) throw error;
  };
  await expect(consume()).rejects.toBe(error);
  expect(hasFailed).toBe(true);
});

test('a run that goes on after its consumer has left is waited for, and its end is nobody’s', async () => {
  const held = Promise.withResolvers<void>();
  const events = streamEvents(async (listener) => {
    await Promise.resolve(listener(output('a'))).catch(() => undefined);
    await held.promise;
    return SUMMARY;
  });
  await events.next();
  let hasLeft = false;
  const leaving = events.return().then(() => (hasLeft = true));
  await new Promise(setImmediate);
  expect(hasLeft).toBe(false);
  held.resolve();
  await leaving;
  expect(await events.next()).toEqual({ done: true, value: undefined });
});

test('a run that fails after some events still gives those', async () => {
  const error = new Error('broken');
  const seen: Event[] = [];
  const consume = async (): Promise<void> => {
    const run = async (listener: Listener): Promise<Summary> => {
      await listener(output('a'));
      throw error;
    };
    for await (const event of streamEvents(run)) seen.push(event);
  };
  await expect(consume()).rejects.toBe(error);
  expect(seen).toEqual([output('a')]);
});

test('the run waits for as long as its consumer thinks', async () => {
  let given = 0;
  const events = streamEvents(async (listener) => {
    for (const text of 'abc') {
      await listener(output(text));
      given += 1;
    }
    return SUMMARY;
  });
  for (const expected of [0, 1, 2]) {
    await events.next();
    await new Promise(setImmediate);
    expect(given).toBe(expected);
  }
  expect((await events.next()).value).toMatchObject({ type: 'done' });
});
