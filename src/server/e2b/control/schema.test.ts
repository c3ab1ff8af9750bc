import { expect, test } from 'vitest';
import { NewSandboxBody, refuseUnsupported } from './schema.ts';

const body = (more: object = {}) => NewSandboxBody.parse({ templateID: 'base', ...more });

test('a sandbox lives five minutes unless it is said otherwise', () => {
  expect(body().timeout).toBe(300);
  expect(body({ timeout: 60 }).timeout).toBe(60);
});

test.each([
  [{ timeout: -1 }],
  [{ timeout: 1.5 }],
  [{ timeout: 24 * 3600 + 1 }],
  [{ metadata: { a: 1 } }],
  [{ envVars: { 'not a name': 'x' } }],
  [{ templateID: 7 }],
  [{ unheardOf: true }],
])('%j is refused', (more) => {
  expect(NewSandboxBody.safeParse({ templateID: 'base', ...more }).success).toBe(false);
});

test.each([
  [{}],
  [{ autoPause: false, autoPauseMemory: true, autoResume: { enabled: false } }],
  [{ volumeMounts: [] }],
  [{ network: { allowPublicTraffic: false } }],
  [{ mcp: null, metadata: null, envVars: null }],
  [{ secure: true }],
])('%j asks for nothing that is not there', (more) => {
  expect(() => refuseUnsupported(body(more))).not.toThrow();
});

test.each([
  [{ autoPause: true }, 'Pausing'],
  [{ autoResume: { enabled: true } }, 'Pausing'],
  [{ mcp: { servers: {} } }, 'MCP'],
  [{ iam: { tokens: {} } }, 'identity'],
  [{ volumeMounts: [{ name: 'a', path: '/a' }] }, 'Volumes'],
  [{ network: { allowOut: ['example.com'] } }, 'Network'],
])('%j is refused by its name', (more, name) => {
  expect(() => refuseUnsupported(body(more))).toThrow(new RegExp(`${name}.* is not supported by Vivarium`));
});
