import { expect, test } from 'vitest';
import { parseRequest } from './request.ts';
import { ofSession, threadOf } from './thread.ts';

const idOf = (configurable: Readonly<Record<string, unknown>>): string => threadOf({ configurable }).id;

test('O-04 a thread is found by its namespace and its id, and further keys are the caller\u2019s', () => {
  const configurable = { thread_id: 't', checkpoint_ns: 'python_executor', framework: {}, other: 1 };
  expect(threadOf({ configurable })).toEqual({ id: 'python_executor/t', configurable });
});

test.for(['thread_id', 'checkpoint_ns'])('O-04 a call without %s is refused', (missing) => {
  const { [missing]: _missing, ...others }: Record<string, string> = { thread_id: 't', checkpoint_ns: 'ns' };
  expect(() => idOf(others)).toThrow(`: configurable.${missing} must be text`);
});

test('OB-13 two users with the same thread id do not meet, and no name can be made to look like another', () => {
  const base = { thread_id: 't', checkpoint_ns: 'ns' };
  const ids = [
    idOf(base),
    idOf({ ...base, user_id: 'a' }),
    idOf({ ...base, user_id: 'b' }),
    idOf({ ...base, thread_id: 'a/t' }),
    idOf({ ...base, checkpoint_ns: 'ns/a' }),
    idOf({ ...base, chat_id: 'a' }),
    idOf({ ...base, user_id: 'a', chat_id: 'a' }),
    idOf({ ...base, user_id: 'a', chat_id: 'b' }),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});

test('O-04 ids of any letters are told apart and fit into storage', () => {
  const ids = ['束'.repeat(60), '線'.repeat(60), '束'.repeat(300)].map((thread_id) =>
    idOf({ thread_id, checkpoint_ns: 'ns' }),
  );
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) expect(id.length).toBeLessThanOrEqual(512);
  expect(idOf({ thread_id: ids[0], checkpoint_ns: 'ns' })).not.toBe(ids[0]);
  expect(() => idOf({ thread_id: 'half \ud800', checkpoint_ns: 'ns' })).toThrow('configurable.thread_id');
});

const REQUEST = { user_query: '', task_objective: 'x', execution_folder_name: 'x' };

test('O-18 OB-13 whose request it is is a part of its thread, and may not be said in two ways', () => {
  const config = { configurable: { thread_id: 't', checkpoint_ns: 'ns' } };
  const request = parseRequest({ ...REQUEST, session_context: { user_id: 'ann', chat_id: '7' } });
  expect(threadOf(ofSession(config, request)).id).toBe('ns/ann/7/t');
  const other = { configurable: { ...config.configurable, user_id: 'bob' } };
  expect(() => ofSession(other, request)).toThrow('session_context.user_id and configurable.user_id');
  expect(threadOf(ofSession(other, parseRequest(REQUEST))).id).toBe('ns/bob/t');
});

test.for([{ user_id: '' }, { chat_id: '' }, { user_id: 'x'.repeat(201) }, { user_id: 'a\0' }])(
  'O-18 %j says nothing of whose request it is',
  (session_context) => {
    expect(() => parseRequest({ ...REQUEST, session_context })).toThrow('sessionContext');
  },
);

test('O-14 a folder is named by what a name can have, and never by a path', () => {
  expect(() => parseRequest({ ...REQUEST, execution_folder_name: '../x' })).toThrow('not a path');
  const named = (execution_folder_name: string): string =>
    parseRequest({ ...REQUEST, execution_folder_name }).executionFolderName;
  expect([named('beam analysis'), named('束 + x'), named('y'.repeat(200)).length]).toEqual([
    'beam_analysis',
    '_x',
    100,
  ]);
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

test('O-41 a call without any configuration, or with another value for it, says the same', () => {
  for (const config of [undefined, {}, { configurable: null as never }, { configurable: 'text' as never }]) {
    expect(() => threadOf(config)).toThrow(/: configurable\S* .*must be text\. Call the service with/);
  }
});
