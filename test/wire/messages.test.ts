/** How messages are read: with bounded work, from newer servers, with dates, errors and options. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseConfig } from '../../src/config.ts';
import { ERROR_CODES, VivariumError, type ErrorCode } from '../../src/errors.ts';
import { parseKeyedRun, parseRun, SettingsParser } from '../../src/host/options.ts';
import { DecisionSchema } from '../../src/wire/approval.ts';
import { ArtifactSchema } from '../../src/wire/artifact.ts';
import { fromWireError, toWireError } from '../../src/wire/error.ts';
import { EventSchema, readEvent } from '../../src/wire/event.ts';
import {
  HostOptionsSchema,
  KeyOptionsSchema,
  OnceOptionsSchema,
  RunOptionsSchema,
  SessionOptionsSchema,
} from '../../src/wire/options.ts';
import { errorsOf, expectValid } from './json-schema.ts';

/** A value that throws when somebody looks inside. */
function untouchable(): object {
  const refuse = (): never => {
    throw new Error('somebody looked inside');
  };
  return new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse });
}

test('charts are not walked', () => {
  const chart = untouchable();
  const event = EventSchema.parse({ type: 'result', result: { kind: 'figure', data: {}, chart } });
  expect(event.type === 'result' && Object.is(event.result.chart, chart)).toBe(true);
});

test('unknown keys and unknown events of a newer server are ignored', () => {
  expect(readEvent({ type: 'clear', since: 1 })).toEqual({ type: 'clear' });
  expect(readEvent({ type: 'progress', done: 0.5 })).toBeUndefined();
  for (const wrong of [{ type: 'output' }, {}, 'output', null]) expect(() => readEvent(wrong)).toThrow(z.ZodError);
});

test('a date is text on the wire and a Date in a program', () => {
  const wire = {
    id: 'a',
    name: 'a.csv',
    sizeBytes: 3,
    mime: 'text/csv',
    sha256: '0'.repeat(64),
    sessionId: 's',
    executionId: 'e',
    clientId: null,
    createdAt: '2026-01-02T03:04:05.678Z',
  };
  const artifact = z.decode(ArtifactSchema, wire);
  expect(artifact.createdAt).toEqual(new Date('2026-01-02T03:04:05.678Z'));
  expect(z.encode(ArtifactSchema, artifact)).toEqual(wire);
  expect(ArtifactSchema.safeParse({ ...wire, createdAt: 'yesterday' }).success).toBe(false);
  expect(errorsOf('Artifact', { ...wire, createdAt: 'yesterday' })).not.toEqual([]);
});

test('an error arrives as the one that was thrown', () => {
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const wire: unknown = JSON.parse(JSON.stringify(toWireError(new VivariumError(code, 'It failed.'))));
    expect(wire).toEqual({ code, message: 'It failed.', hint: ERROR_CODES[code].hint });
    expectValid('Error', wire);
    expect(fromWireError(wire)).toMatchObject({ name: 'VivariumError', code, message: 'It failed.' });
  }
});

test('an error code that only a newer server knows is kept in the message', () => {
  const unknown = fromWireError({ code: 'QUOTA', message: 'Too much.', hint: 'wait' });
  expect(unknown).toMatchObject({ code: 'ENGINE_FAILED', message: 'Too much. (QUOTA)' });
});

const parser = new SettingsParser(parseConfig({ dataDir: '/tmp/none' }), null);
const DOORS = {
  RunOptions: { schema: RunOptionsSchema, host: (options: object) => parseRun('1', options) },
  KeyOptions: { schema: KeyOptionsSchema, host: (options: object) => parseKeyedRun('1', options) },
  SessionOptions: { schema: SessionOptionsSchema, host: (options: object) => parser.parseSession(options) },
  OnceOptions: { schema: OnceOptionsSchema, host: (options: object) => parser.parseOnce('1', options) },
  HostOptions: {
    schema: HostOptionsSchema,
    host: (options: object) => parseConfig({ dataDir: '/tmp/none', ...options }),
  },
} as const;

test.for<[keyof typeof DOORS, object]>([
  ['RunOptions', {}],
  ['RunOptions', { echo: 'all', timeoutMs: 5, resultVariable: 'größe', svg: true, whenBusy: 'refuse' }],
  ['KeyOptions', { id: 'a', sessionId: 'b', chatId: 'c', clientId: 'd' }],
  ['SessionOptions', { id: 'a.b-c', initCode: null, idleMs: null, limits: { memoryMb: 64, cpuMs: null } }],
  ['SessionOptions', { mounts: [{ source: '/a', target: '/b' }], network: true, env: { A: '1' }, echo: 'none' }],
  ['OnceOptions', { readOnly: true, timeoutMs: 5, limits: {} }],
  ['HostOptions', { python: 'python3', isolation: 'none', preload: [], limits: { spillMb: 0 }, idleMs: 5 }],
])('%s %j are accepted, and nothing is filled in', ([name, options]) => {
  const { schema, host } = DOORS[name];
  expect(schema.parse(options)).toEqual(options);
  expectValid(name, options);
  expect(() => host(options)).not.toThrow();
});

test.for<[keyof typeof DOORS, object]>([
  ['RunOptions', { timeoutMS: 5 }],
  ['RunOptions', { timeoutMs: 0 }],
  ['RunOptions', { timeoutMs: 24 * 3_600_000 + 1 }],
  ['RunOptions', { echo: 'some' }],
  ['KeyOptions', { user: 'a' }],
  ['KeyOptions', { chatId: '' }],
  ['SessionOptions', { id: '../up' }],
  ['SessionOptions', { limits: { memoryMB: 1 } }],
  ['SessionOptions', { limits: { memoryMb: 1 } }],
  ['SessionOptions', { limits: 5 }],
  ['SessionOptions', { env: { 'A=B': '' } }],
  ['SessionOptions', { mounts: [{ source: '/a', target: '/b', writeable: true }] }],
  ['OnceOptions', { idleMs: 5 }],
  ['OnceOptions', { id: 'a' }],
  ['HostOptions', { poolsize: 1 }],
  ['HostOptions', { poolSize: 65 }],
])('%s %j are refused, as by the host itself', ([name, options]) => {
  const { schema, host } = DOORS[name];
  expect(schema.safeParse(options).success).toBe(false);
  expect(errorsOf(name, options)).not.toEqual([]);
  expect(() => host(options)).toThrow(VivariumError);
});

test('rules that JSON Schema cannot express are checked too', () => {
  expect(RunOptionsSchema.safeParse({ resultVariable: 'a b' }).success).toBe(false);
  expect(SessionOptionsSchema.safeParse({ mounts: [{ source: 'a', target: '/b' }] }).success).toBe(false);
  expect(DecisionSchema.safeParse({ type: 'edit', code: '\0' }).success).toBe(false);
});

test('signals cannot be sent', () => {
  expect(RunOptionsSchema.safeParse({ signal: new AbortController().signal }).success).toBe(false);
  expect(SessionOptionsSchema.safeParse({ signal: new AbortController().signal }).success).toBe(false);
});

test('a decision with an unknown key is refused', () => {
  expect(DecisionSchema.safeParse({ type: 'approve', code: 'other()' }).success).toBe(false);
  expect(DecisionSchema.parse({ type: 'edit', code: 'x = 1' })).toEqual({ type: 'edit', code: 'x = 1' });
});
