import { expect, test } from 'vitest';
import type { Artifact } from './artifact.ts';
import { LateCopies, type LateFacts } from './late-copies.ts';

function facts(id: string, more: Partial<LateFacts> = {}): LateFacts {
  return { id, name: `${id}.bin`, sessionId: 's', clientId: null, ...more };
}

/** A copy that ends when the test says so. */
function controlled(): PromiseWithResolvers<Artifact> & { hasBegun: boolean; copy: () => Promise<Artifact> } {
  const ends = Promise.withResolvers<Artifact>();
  const copy = { ...ends, hasBegun: false, copy: (): Promise<Artifact> => ends.promise };
  copy.copy = () => {
    copy.hasBegun = true;
    return ends.promise;
  };
  return copy;
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol('open');
  return (await Promise.race([promise, new Promise((resolve) => setImmediate(resolve, open))])) === open;
}

test('those who ask for a copy wait for it, and others do not', async () => {
  const copies = new LateCopies();
  const { copy, resolve } = controlled();
  const done = copies.add(facts('a'), copy);
  const asked = [copies.settled('a', undefined), copies.settledOf('s')];
  for (const waiting of asked) expect(await isPending(waiting)).toBe(true);
  await copies.settled('b', undefined);
  await copies.settledOf('another');
  resolve({ id: 'a' } as Artifact);
  expect(await done).toEqual({ id: 'a' });
  await Promise.all(asked);
});

test('the copies of a session are made one after the other, and those of another at the same time', async () => {
  const copies = new LateCopies();
  const [first, second, other] = [controlled(), controlled(), controlled()];
  void copies.add(facts('1'), first.copy);
  const last = copies.add(facts('2'), second.copy);
  void copies.add(facts('3', { sessionId: 'another' }), other.copy);
  expect(await isPending(last)).toBe(true);
  expect([first.hasBegun, second.hasBegun, other.hasBegun]).toEqual([true, false, true]);
  first.reject(new Error('the first failed'));
  second.resolve({ id: '2' } as Artifact);
  expect(await last).toEqual({ id: '2' });
});

test('a failure is told each time, with the name, to its client only', async () => {
  const copies = new LateCopies();
  const cause = new Error('no room');
  const done = copies.add(facts('a', { clientId: 'me' }), () => Promise.reject(cause));
  const failure = { code: 'STORAGE_FAILED', message: 'The copy of "a.bin" could not be made. no room', cause };
  await expect(done).rejects.toMatchObject(failure);
  for (const client of ['me', undefined, 'me'])
    await expect(copies.settled('a', client)).rejects.toMatchObject(failure);
  await expect(copies.settled('a', 'them')).resolves.toBeUndefined();
  await expect(copies.settledOf('s')).resolves.toBeUndefined();
});

test('another client does not wait, and so cannot tell that there is something', async () => {
  const copies = new LateCopies();
  void copies.add(facts('a', { clientId: 'me' }), controlled().copy);
  expect(await isPending(copies.settled('a', 'me'))).toBe(true);
  expect(await isPending(copies.settled('a', 'them'))).toBe(false);
});

test('closing waits for the copies', async () => {
  const copies = new LateCopies();
  const { copy, resolve } = controlled();
  void copies.add(facts('a'), copy);
  const closing = copies.close();
  expect(await isPending(closing)).toBe(true);
  resolve({ id: 'a' } as Artifact);
  await closing;
});

test('closing gives up copies that take too long, and later ones', async () => {
  const copies = new LateCopies();
  const endless = (signal: AbortSignal): Promise<Artifact> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  const done = copies.add(facts('a'), endless);
  await copies.close(1);
  await expect(done).rejects.toThrow('The host was closed before the copy was made');
  const late = copies.add(facts('b'), async (signal) => (signal.throwIfAborted(), { id: 'b' } as Artifact));
  await expect(late).rejects.toThrow('The host was closed');
});

test('as many failures are remembered as there is room for, the last ones', async () => {
  const copies = new LateCopies();
  for (let n = 0; n <= 1000; n += 1) {
    await copies.add(facts(String(n)), () => Promise.reject(new Error('no room'))).catch(() => undefined);
  }
  await expect(copies.settled('0', undefined)).resolves.toBeUndefined();
  await expect(copies.settled('1', undefined)).rejects.toThrow('no room');
});
