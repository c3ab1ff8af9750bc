import { expect, test } from 'vitest';
import { keyOfId, resolveKey } from './keys.ts';

test('the session id wins over the chat id, the chat id over the client id, the client id over the default', () => {
  expect(resolveKey({ sessionId: 'a', chatId: 'b' })).toBe('session:a');
  expect(resolveKey({ chatId: 'b' })).toBe('chat:b');
  expect(resolveKey({ clientId: 'c' })).toBe('client:c');
  expect(resolveKey({})).toBe('default');
});

test('one name in different roles, or used by different clients, gives different keys', () => {
  const keys = [
    keyOfId('x'),
    resolveKey({ sessionId: 'x' }),
    resolveKey({ chatId: 'x' }),
    resolveKey({ clientId: 'x' }),
    resolveKey({ sessionId: 'x', clientId: 'a' }),
    resolveKey({ sessionId: 'x', clientId: 'b' }),
    resolveKey({ clientId: 'default' }),
    resolveKey({}),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

test('no id can imitate another key', () => {
  expect(resolveKey({ clientId: 'a/session:x' })).not.toBe(resolveKey({ clientId: 'a', sessionId: 'x' }));
  expect(resolveKey({ clientId: '\ud800' })).toMatch(/^client:/);
});
