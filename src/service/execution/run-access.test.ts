import { expect, test } from 'vitest';
import { describeAccess, wallsOf, type RunAccess } from './run-access.ts';

const CLOSED: RunAccess = { walls: 'sandbox', network: false, writable: [] };
const NOT_SEPARATED = /does not stop a write over the network: only access rules .* or a read-only gateway do/u;

test('a reviewer is told what the sandbox enforces', () => {
  expect(describeAccess(CLOSED, 'read_only')).toBe('The sandbox confines it. No network. Mounts are read-only.');
  expect(describeAccess({ ...CLOSED, writable: ['/data'] }, 'write_access')).toBe(
    'The sandbox confines it. No network. It may write to /data.',
  );
});

test('a reviewer is told which hosts a list has', () => {
  const list = { allow: ['gateway.example.org:5064', '10.0.0.0/8:22'], deny: ['10.0.0.1'], log: true };
  expect(describeAccess({ ...CLOSED, network: list }, 'write_access')).toBe(
    'The sandbox confines it. It reaches these hosts and no others: gateway.example.org:5064, 10.0.0.0/8:22, except 10.0.0.1 (modes.write_access.network). Mounts are read-only.',
  );
  const many = { ...list, allow: Array.from({ length: 500 }, (_, index) => `h${index}.test`), deny: [] };
  expect(describeAccess({ ...CLOSED, network: many }, 'write_access')).toContain('h19.test, 480 more (modes');
  expect(describeAccess({ ...CLOSED, network: { ...list, allow: [] } }, 'write_access')).toContain('No network.');
});

test.for([
  ['an open network', { ...CLOSED, network: true }],
  ['a list of hosts', { ...CLOSED, network: { allow: ['gateway.example.org'], deny: [], log: true } }],
  ['a Jupyter server', { ...CLOSED, walls: 'server' }],
  ['no sandbox', { ...CLOSED, walls: 'none' }],
] as const)('with %s, reading and writing are not separated, and the reviewer is told', ([, access]) => {
  expect(describeAccess(access, 'read_only')).toMatch(NOT_SEPARATED);
  expect(describeAccess(access, 'write_access')).not.toMatch(NOT_SEPARATED); // it may write anyway
});

test('only our own sandbox counts as walls', () => {
  expect((['namespaces', 'landlock', 'jupyter', 'none'] as const).map((level) => wallsOf({ level }))).toEqual([
    'sandbox',
    'sandbox',
    'server',
    'none',
  ]);
});
