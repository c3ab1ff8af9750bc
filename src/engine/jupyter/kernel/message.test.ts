import { expect, test } from 'vitest';
import { ProtocolViolation } from '../../hostile-json.ts';
import { encodeRequest, parseMessage } from './message.ts';

const message = (type: string, content: unknown): string =>
  JSON.stringify({ header: { msg_type: type }, parent_header: { msg_id: 'p' }, content });

test('what matters is kept, with the request it belongs to', () => {
  expect(parseMessage(message('stream', { name: 'stdout', text: 'hi' }))).toEqual({
    type: 'stream',
    parent: 'p',
    content: { name: 'stdout', text: 'hi' },
  });
});

test('messages that do not matter are left out, whatever their name', () => {
  for (const type of ['comm_open', 'toString', '__proto__', 'constructor']) {
    expect(parseMessage(message(type, { data: 1 }))).toBeNull();
  }
});

test.each([
  ['no JSON', '{'],
  ['no header', '{}'],
  ['JSON that is too deep', `${'['.repeat(100)}${']'.repeat(100)}`],
  ['output that is no text', message('stream', { name: 'stdout', text: 5 })],
  ['output of an unknown stream', message('stream', { name: 'stdin', text: '' })],
  ['forms that are no object', message('display_data', { data: [], metadata: {} })],
  ['a reply without status', message('execute_reply', {})],
])('%s breaks the protocol', (_, text) => {
  expect(() => parseMessage(text)).toThrow(ProtocolViolation);
});

test('a message that is too large is not even parsed', () => {
  expect(parseMessage('x'.repeat((32 << 20) + 1))).toMatchObject({ type: 'oversized', content: (32 << 20) + 1 });
});

test('silent code is kept out of the history and cannot ask for input', () => {
  const { id, text } = encodeRequest('session', { code: '1', isSilent: true, stopOnError: false });
  expect(JSON.parse(text)).toMatchObject({
    channel: 'shell',
    header: { msg_id: id, msg_type: 'execute_request', session: 'session', version: '5.3' },
    content: { code: '1', silent: true, store_history: false, allow_stdin: false, stop_on_error: false },
  });
});
