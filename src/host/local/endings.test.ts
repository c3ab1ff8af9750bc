import { expect, test } from 'vitest';
import { CLOSED, describeDuration, Endings, evictedAfter, failedWith, sessionClosed } from './endings.ts';

test('the last endings are remembered, older ones forgotten', () => {
  const endings = new Endings(2);
  for (const id of ['a', 'b', 'c']) endings.add({ id, key: `id:${id}` }, evictedAfter(60_000));
  expect(endings.of('a')).toBeUndefined();
  expect(endings.of('c')?.what).toBe('was evicted after 1 minute without use');
  endings.forget('c');
  expect(endings.of('c')).toBeUndefined();
});

test('the loss of a key is reported once, and a session that was closed on purpose is no loss', () => {
  const endings = new Endings();
  endings.add({ id: 'a', key: 'client:a' }, evictedAfter(5));
  endings.add({ id: 'b', key: 'client:b' }, CLOSED);
  expect(endings.takeLoss('client:a')?.what).toContain('5 ms');
  expect(endings.takeLoss('client:a')).toBeUndefined();
  expect(endings.takeLoss('client:b')).toBeUndefined();
});

test('durations use the largest unit that gives a whole number', () => {
  expect([3_600_000, 20_000, 1000, 1500].map(describeDuration)).toEqual([
    '60 minutes',
    '20 seconds',
    '1 second',
    '1500 ms',
  ]);
});

test.for<[ms: number, text: string]>([
  [0, '0 ms'],
  [1, '1 ms'],
  [999, '999 ms'],
  [1001, '1001 ms'],
  [59_000, '59 seconds'],
  [60_000, '1 minute'],
  [61_000, '61 seconds'],
  [90_000, '90 seconds'],
  [86_400_000, '1440 minutes'],
])('%i ms are called "%s"', ([ms, text]) => {
  expect(describeDuration(ms)).toBe(text);
});

test('the error of a session that ended says how, what is lost and what to do', () => {
  for (const [ending, what] of [
    [CLOSED, 'was closed'],
    [evictedAfter(20_000), 'was evicted after 20 seconds without use'],
    [failedWith('the disk is full'), 'was lost: the disk is full'],
  ] as const) {
    expect(sessionClosed('s1', ending)).toMatchObject({
      name: 'VivariumError',
      code: 'SESSION_CLOSED',
      message: `Session s1 ${what}. Its variables are gone; create a new session.`,
    });
  }
  expect([CLOSED, evictedAfter(1), failedWith('')].map(({ isUnexpected }) => isUnexpected)).toEqual([
    false,
    true,
    true,
  ]);
});

test('a client hears only of the endings of its own sessions, the owner of the host of all', () => {
  const endings = new Endings();
  endings.add({ id: 'a', clientId: 'me' }, CLOSED);
  endings.add({ id: 'b' }, CLOSED);
  expect(endings.of('a', 'me')).toMatchObject(CLOSED);
  expect(endings.of('a', 'them')).toBeUndefined();
  expect(endings.of('b', 'me')).toBeUndefined();
  expect(endings.of('b')).toMatchObject(CLOSED);
  expect(endings.of('never')).toBeUndefined();
  expect(endings.of('never', 'me')).toBeUndefined();
});

test('an id that ended again counts as young', () => {
  const endings = new Endings(2);
  for (const id of ['a', 'b', 'a', 'c']) endings.add({ id }, failedWith(id));
  expect(['a', 'b', 'c'].map((id) => endings.of(id)?.what)).toEqual(['was lost: a', undefined, 'was lost: c']);
});

test('losses of keys are bounded too, and the last loss of a key is the one that is told', () => {
  const endings = new Endings(2);
  endings.add({ id: '1', key: 'k' }, failedWith('first'));
  endings.add({ id: '2', key: 'k' }, failedWith('second'));
  endings.add({ id: '3', key: 'l' }, failedWith('third'));
  expect(endings.takeLoss('k')?.what).toBe('was lost: second');
  endings.add({ id: '4', key: 'm' }, failedWith('fourth'));
  endings.add({ id: '5', key: 'n' }, failedWith('fifth'));
  expect(['l', 'm', 'n'].map((key) => endings.takeLoss(key)?.what)).toEqual([
    undefined,
    'was lost: fourth',
    'was lost: fifth',
  ]);
});

test('a session without a key is a loss for nobody who asks by key', () => {
  const endings = new Endings();
  endings.add({ id: 'a' }, failedWith('x'));
  expect(endings.takeLoss('a')).toBeUndefined();
  expect(endings.takeLoss('undefined')).toBeUndefined();
});

test('closing a session on purpose does not take back a loss that nobody was told of', () => {
  const endings = new Endings();
  endings.add({ id: 'a', key: 'k' }, evictedAfter(5));
  endings.add({ id: 'b', key: 'k' }, CLOSED);
  expect(endings.takeLoss('k')?.what).toContain('evicted');
});
