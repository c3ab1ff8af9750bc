import { expect, test } from 'vitest';
import { decodeRequest, encodeEnd, encodeMessage } from './envelope.ts';
import { RpcError } from './rpc-error.ts';

test('a message has flags, length and JSON', () => {
  expect(encodeMessage({ a: 'ä' })).toEqual(Buffer.concat([Buffer.from([0, 0, 0, 0, 10]), Buffer.from('{"a":"ä"}')]));
  expect(decodeRequest(encodeMessage({ a: ['ä'] }))).toEqual({ a: ['ä'] });
});

test('the end of a stream tells why it has failed', () => {
  expect(encodeEnd().subarray(5).toString()).toBe('{}');
  const end = encodeEnd(new RpcError('not_found', 'no such file'));
  expect(end[0]).toBe(2);
  expect(JSON.parse(end.toString('utf8', 5))).toEqual({ error: { code: 'not_found', message: 'no such file' } });
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['half a head', Buffer.from([0, 0])],
  ['a message that is cut off', encodeMessage({ a: 1 }).subarray(0, -1)],
  ['two messages', Buffer.concat([encodeMessage({}), encodeMessage({})])],
  ['a length that nobody sends', Buffer.from([0, 255, 255, 255, 255, 1])],
  ['what is not JSON', Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), Buffer.from('{')])],
])('%s is not a request', (_, body) => {
  expect(() => decodeRequest(body)).toThrow(expect.objectContaining({ code: 'invalid_argument' }) as Error);
});

test('a compressed message is refused', () => {
  const body = encodeMessage({});
  body[0] = 1;
  expect(() => decodeRequest(body)).toThrow('Compressed');
});
