import { expect, test } from 'vitest';
import type { RunningSandbox } from '../sandbox/sandboxes.ts';
import { readMetadata, selectPage } from './list.ts';
import { ListQuery } from './schema.ts';

const sandbox = (id: string, startedMs: number, more: object = {}): RunningSandbox =>
  ({
    sandbox: { id, startedAt: new Date(startedMs), settings: { metadata: {}, templateId: 'base', ...more } },
    endsAt: new Date(startedMs + 1000),
  }) as unknown as RunningSandbox;
const ALL = [sandbox('a', 1000), sandbox('b', 3000), sandbox('c', 2000), sandbox('d', 3000)];
const page = (query: Record<string, string>, all = ALL) => {
  const { items, nextToken } = selectPage(all, ListQuery.parse(query));
  return { ids: items.map((one) => one.sandbox.id).join(''), nextToken };
};

test('the newest come first, or the oldest', () => {
  expect(page({})).toEqual({ ids: 'dbca', nextToken: null });
  expect(page({ order: 'asc' }).ids).toBe('acbd');
});

test.each(['asc', 'desc'])('pages in the order %s follow each other without a gap or a repetition', (order) => {
  const whole = page({ order }).ids;
  const first = page({ order, limit: '3' });
  expect(first.ids).toBe(whole.slice(0, 3));
  const second = page({ order, limit: '3', nextToken: first.nextToken ?? '' });
  expect(second).toEqual({ ids: whole.slice(3), nextToken: null });
});

test('a page goes on where the last one ended, also if that sandbox is gone', () => {
  const { nextToken } = page({ limit: '2' });
  const left = ALL.filter((one) => one.sandbox.id !== 'b');
  expect(page({ limit: '2', nextToken: nextToken ?? '' }, left).ids).toBe('ca');
});

test('filters hold together', () => {
  const all = [
    sandbox('a', 1, { metadata: { x: '1', y: '2' } }),
    sandbox('b', 2, { metadata: { x: '1' }, templateId: 'other' }),
  ];
  expect(page({ metadata: 'x=1' }, all).ids).toBe('ba');
  expect(page({ metadata: 'x=1&y=2' }, all).ids).toBe('a');
  expect(page({ metadata: 'x=1', template: 'other' }, all).ids).toBe('b');
  expect(page({ state: 'paused' }, all).ids).toBe('');
  expect(page({ state: 'paused,running' }, all).ids).toBe('ba');
  expect(page({ startedAfter: new Date(1).toISOString() }, all).ids).toBe('b');
});

test('metadata is encoded twice', () => {
  const query = new URLSearchParams({ [encodeURIComponent('a&b')]: encodeURIComponent('c=d e') }).toString();
  expect(readMetadata(query)).toEqual([['a&b', 'c=d e']]);
  expect(() => readMetadata('a=%25E0%25A4')).toThrow('percent-encoded');
});

test.each(['', 'x', Buffer.from('1').toString('base64url'), Buffer.from('x y').toString('base64url')])(
  'the token %j is refused',
  (nextToken) => {
    expect(() => page({ nextToken })).toThrow('nextToken');
  },
);

test.each([{ limit: '0' }, { limit: '101' }, { limit: 'x' }, { order: 'up' }, { startedAfter: 'soon' }])(
  'the query %j is refused',
  (query) => {
    expect(ListQuery.safeParse(query).success).toBe(false);
  },
);
