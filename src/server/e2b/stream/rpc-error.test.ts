import { expect, test } from 'vitest';
import { VivariumError, type ErrorCode } from '../../../errors.ts';
import { RpcError, toRpcError } from './rpc-error.ts';

test.each([
  ['FILE_NOT_FOUND', 'not_found', 404],
  ['FILE_REFUSED', 'invalid_argument', 400],
  ['FILE_TOO_LARGE', 'resource_exhausted', 429],
  ['CONFIG_INVALID', 'invalid_argument', 400],
  ['UNAUTHORIZED', 'unauthenticated', 401],
  ['RATE_LIMITED', 'resource_exhausted', 429],
  ['SERVER_CLOSING', 'unavailable', 503],
  ['SESSION_CLOSED', 'unavailable', 503],
] as const satisfies [ErrorCode, string, number][])('%s is told as %s', (code, told, status) => {
  expect(toRpcError(new VivariumError(code, 'why'))).toMatchObject({ code: told, status });
});

test('the reason is told, but not that of a bug', () => {
  expect(toRpcError(new VivariumError('FILE_REFUSED', 'it is a link')).message).toBe('it is a link');
  expect(toRpcError(new TypeError('secret path'))).toMatchObject({ code: 'internal', message: 'The server failed.' });
  const own = new RpcError('already_exists', 'a');
  expect(toRpcError(own)).toBe(own);
});

test('a sandbox without a session is one that is not found, in the words of E2B', () => {
  expect(toRpcError(new VivariumError('SESSION_CLOSED', 'x')).message).toBe('The sandbox was not found');
});
