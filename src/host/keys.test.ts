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

test('different selections have different keys, whatever characters the ids hold', () => {
  const ids = ['a', 'b', 'a/session:b', 'client:a', 'session:a', '%2F', '/', ':', ' ', 'é', 'e\u0301', '🐍', '\n', '0'];
  const keys = new Map<string, string>();
  for (const first of [undefined, ...ids]) {
    for (const second of ids) {
      for (const selector of [
        { clientId: first, sessionId: second },
        { clientId: first, chatId: second },
      ]) {
        const key = resolveKey(selector);
        const said = JSON.stringify(selector);
        expect(keys.get(key) ?? said).toBe(said);
        keys.set(key, said);
      }
    }
  }
  expect(keys.size).toBe((ids.length + 1) * ids.length * 2);
  for (const id of ids) {
    for (const key of [keyOfId(id), resolveKey({ clientId: id })]) {
      expect(keys.has(key)).toBe(false);
      keys.set(key, key);
    }
  }
});

test('a client is part of the key of its sessions and chats', () => {
  expect(resolveKey({ clientId: 'c', sessionId: 's', chatId: 't' })).toBe('client:c/session:s');
  expect(resolveKey({ clientId: 'c', chatId: 't' })).toBe('client:c/chat:t');
  expect(keyOfId('s')).toBe('id:s');
});
