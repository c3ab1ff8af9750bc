import { expect, test } from 'vitest';
import { threadOf } from './thread.ts';

const idOf = (configurable: Readonly<Record<string, unknown>>): string => threadOf({ configurable }).id;

test('O-04 a thread is found by its namespace and its id, and further keys are the caller\u2019s', () => {
  const configurable = { thread_id: 't', checkpoint_ns: 'python_executor', framework: {}, other: 1 };
  expect(threadOf({ configurable })).toEqual({ id: 'python_executor/t', configurable });
});

test('OB-13 two users with the same thread id do not meet, and no name can be made to look like another', () => {
  const base = { thread_id: 't', checkpoint_ns: 'ns' };
  const ids = [
    idOf(base),
    idOf({ ...base, user_id: 'a' }),
    idOf({ ...base, user_id: 'b' }),
    idOf({ ...base, thread_id: 'a/t' }),
    idOf({ ...base, checkpoint_ns: 'ns/a' }),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});

test.for([
  [undefined, ['thread_id', 'checkpoint_ns']],
  [{}, ['thread_id', 'checkpoint_ns']],
  [{ thread_id: 't' }, ['checkpoint_ns']],
  [{ checkpoint_ns: 'ns' }, ['thread_id']],
  [{ thread_id: '', checkpoint_ns: 'ns' }, ['thread_id']],
  [{ thread_id: 7, checkpoint_ns: 'ns' }, ['thread_id']],
] as const)('O-41 %j: what is missing is named, with the way to write it', ([configurable, missing]) => {
  const act = (): unknown => threadOf(configurable === undefined ? {} : { configurable });
  for (const key of missing) expect(act).toThrow(`configurable.${key}`);
  expect(act).toThrow('...getFullConfiguration(), thread_id: "…", checkpoint_ns: "python_executor"');
});
