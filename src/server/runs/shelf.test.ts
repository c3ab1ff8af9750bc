import { expect, onTestFinished, test } from 'vitest';
import { Shelf } from './shelf.ts';

function makeShelf(options: { keptBytes?: number; keptMs?: number } = {}) {
  const removed: string[] = [];
  const inUse = new Set<string>();
  const shelf = new Shelf<string>({
    isInUse: (item) => inUse.has(item),
    onRemove: (item) => removed.push(item),
    ...options,
  });
  onTestFinished(() => shelf[Symbol.dispose]());
  return { shelf, removed, inUse };
}

test('the oldest goes first when there is no room', () => {
  const { shelf, removed } = makeShelf({ keptBytes: 10 });
  shelf.put('a', 4);
  shelf.put('b', 4);
  expect(removed).toEqual([]);
  shelf.put('c', 4);
  expect(removed).toEqual(['a']);
});

test('what is in use stays', () => {
  const { shelf, removed, inUse } = makeShelf({ keptBytes: 10 });
  inUse.add('a');
  shelf.put('a', 8);
  shelf.put('b', 8);
  expect(removed).toEqual(['b']);
  inUse.clear();
  shelf.put('c', 4);
  expect(removed).toEqual(['b', 'a']);
});

test('nothing stays for longer than its time', () => {
  const { shelf, removed } = makeShelf({ keptMs: 0 });
  shelf.put('a', 1);
  shelf.sweep();
  expect(removed).toEqual(['a']);
});

test('everything goes in the end', () => {
  const { shelf, removed } = makeShelf();
  shelf.put('a', 1);
  shelf.put('b', 1);
  shelf[Symbol.dispose]();
  expect(removed).toEqual(['a', 'b']);
});
