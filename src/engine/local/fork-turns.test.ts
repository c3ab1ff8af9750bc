import { expect, test } from 'vitest';
import { ForkTurns } from './fork-turns.ts';

const runs = Array.from({ length: 5 }, (_, number) => ({ number }));
const [a = {}, b = {}, c = {}, d = {}, e = {}] = runs;

test('as many as may go at once, and the others in the order in which they came', async () => {
  const turns = new ForkTurns(2);
  const come: string[] = [];
  const wait = (name: string, run: object): void => void turns.take(run)?.then(() => come.push(name));
  expect([turns.take(a), turns.take(b)]).toEqual([null, null]);
  wait('c', c);
  wait('d', d);
  turns.end(b);
  turns.end(b); // has no second turn to give away
  await Promise.resolve();
  expect(come).toEqual(['c']);
  turns.end(a);
  await Promise.resolve();
  expect(come).toEqual(['c', 'd']);
});

test('a run that gives up waits no longer, and takes no turn from others', async () => {
  const turns = new ForkTurns(1);
  void turns.take(a);
  const given = turns.take(b);
  const kept = turns.take(c);
  turns.end(b);
  await given;
  turns.end(a);
  await kept;
  turns.end(c);
  expect(turns.take(d)).toBeNull();
});

test('a turn that never ends holds up the others for a moment only', async () => {
  const turns = new ForkTurns(2);
  void turns.take(a);
  void turns.take(b);
  const startedAt = performance.now();
  await Promise.all([turns.take(c), turns.take(d)]);
  expect(performance.now() - startedAt).toBeGreaterThan(90);
  await turns.take(e); // nor do these end
  expect(performance.now() - startedAt).toBeLessThan(1000);
});
