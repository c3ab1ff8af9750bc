import { expect, test } from 'vitest';
import { keyOfId, resolveKey } from './keys.ts';

test('the session id comes before the chat id, that before the client id, and at last the default', () => {
  expect(resolveKey({ sessionId: 'a', chatId: 'b' })).toBe('session:a');
  expect(resolveKey({ chatId: 'b' })).toBe('chat:b');
  expect(resolveKey({ clientId: 'c' })).toBe('client:c');
  expect(resolveKey({})).toBe('default');
});

test('one name in different roles, or of different clients, is never one key', () => {
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

test('no id can be written to look like another key', () => {
  expect(resolveKey({ clientId: 'a/session:x' })).not.toBe(resolveKey({ clientId: 'a', sessionId: 'x' }));
  expect(resolveKey({ clientId: '\ud800' })).toMatch(/^client:/);
});
