import assert from 'node:assert/strict';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { VivariumError } from '../errors.ts';
import { isRefusal, readArguments, readContext } from './call.ts';
import type { CallContext } from './tool.ts';

const Arguments = z.strictObject({ code: z.string(), timeout: z.number().nullish() });

test('arguments that match are returned as they are', () => {
  expect(readArguments(Arguments, { code: 'x', timeout: null })).toEqual({ value: { code: 'x', timeout: null } });
});

test.for<[unknown, RegExp]>([
  [{}, /code/],
  [{ code: 5 }, /expected string, received number[^]*code/],
  [{ code: null }, /expected string, received null/],
  [{ code: ['x'] }, /received array/],
  [{ code: 'x', timeout: '5' }, /expected number, received string[^]*timeout/],
  [{ code: 'x', kode: 'y' }, /Unrecognized key: "kode"/],
  [null, /received null/],
  [undefined, /received undefined/],
  ['code', /received string/],
  [['code'], /received array/],
])('U-22 arguments of a wrong shape are an observation that names the mistake: %j', ([args, mistake]) => {
  const read = readArguments(Arguments, args);
  assert('refusal' in read, 'the arguments were accepted');
  expect(read.refusal.isError).toBe(true);
  expect(read.refusal.text).toMatch(mistake);
  expect(read.refusal.text).toMatch(/^The arguments are invalid: [^]*\nCorrect them and call again\.$/);
  expect(read.refusal.payload).toEqual({ success: false, error: read.refusal.text });
});

test.for<[CallContext | undefined, object]>([
  [undefined, {}],
  [{}, {}],
  [
    { clientId: 'a', chatId: 'b', sessionId: 'c' },
    { clientId: 'a', chatId: 'b', sessionId: 'c' },
  ],
  [
    { client_id: 'a', chat_id: 'b', session_id: 'c' },
    { clientId: 'a', chatId: 'b', sessionId: 'c' },
  ],
  [{ clientId: 'a', client_id: 'a' }, { clientId: 'a' }],
  [{ clientId: null, client_id: 'a' } as unknown as CallContext, { clientId: 'a' }],
  [{ chatId: null } as unknown as CallContext, {}],
  [{ clientId: 'x'.repeat(500) }, { clientId: 'x'.repeat(500) }],
  [{ variables: {} }, { variables: {} }],
])('P-47 the context %j is read with one spelling of each name', ([context, expected]) => {
  expect(readContext(context)).toEqual(expected);
});

test.for<[object, RegExp]>([
  [{ clientid: 'a' }, /Unrecognized key: "clientid"/],
  [{ user: 'a' }, /Unrecognized key: "user"/],
  [{ clientId: '' }, /clientId/],
  [{ clientId: 'x'.repeat(501) }, /clientId/],
  [{ chatId: 5 }, /chatId/],
  [{ clientId: 'a', client_id: 'b' }, /two values for client_id\. Give one\.$/],
  [{ chatId: 'a', chat_id: 'b' }, /two values for chat_id/],
  [{ sessionId: 'a', session_id: 'b' }, /two values for session_id/],
  [{ variables: { f: () => 1 } }, /variables/],
  [{ variables: { x: Number.NaN } }, /variables/],
])('P-47 a context that could confuse two clients is refused: %j', ([context, mistake]) => {
  expect(() => readContext(context as CallContext)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(mistake) as string }) as Error,
  );
});

test('variables of a context may have 100,000 bytes as JSON and not one more', () => {
  const fitting = 'é'.repeat((100_000 - '{"x":""}'.length) / 2);
  expect(readContext({ variables: { x: fitting } })).toEqual({ variables: { x: fitting } });
  expect(() => readContext({ variables: { x: `${fitting}y` } })).toThrow(
    /more than 100000 bytes\. Pass large data as a file/,
  );
});

test('mistakes of the caller and full limits are refusals; faults of the host are not', () => {
  for (const code of ['CONFIG_INVALID', 'SESSION_LIMIT', 'QUEUE_FULL', 'SESSION_BUSY', 'INIT_FAILED'] as const) {
    expect(isRefusal(new VivariumError(code, 'no')), code).toBe(true);
  }
  for (const code of ['ENGINE_FAILED', 'ENGINE_CLOSED', 'SESSION_CLOSED', 'USAGE'] as const) {
    expect(isRefusal(new VivariumError(code, 'no')), code).toBe(false);
  }
  expect(isRefusal(Object.assign(new Error('no'), { code: 'SESSION_LIMIT' }))).toBe(false);
  expect(isRefusal(undefined)).toBe(false);
});
