import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Mount } from '../../../config.ts';
import { MountTable } from './table.ts';

function setUp(): { table: MountTable; at: (name: string) => string } {
  const base = mkdtempSync(path.join(tmpdir(), 'viv-mounts-'));
  onTestFinished(() => rmSync(base, { recursive: true }));
  for (const name of ['sessions', 'run', 'data/in', 'other']) mkdirSync(path.join(base, name), { recursive: true });
  const at = (name: string): string => path.join(base, name);
  return { table: new MountTable([at('sessions'), at('run'), at('artifacts')]), at };
}

const mount = (source: string, writable = false): Mount => ({ source, target: `/mnt/${Math.random()}`, writable });
const REFUSED = expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error;

test('a mount is known by the path without links, the device and the inode', () => {
  const { table, at } = setUp();
  symlinkSync('data', at('link'));
  symlinkSync(at('link/in'), at('second'));
  using held = table.hold([mount(`${at('second')}/../../data/./in/`)]);
  expect(held.mounts).toMatchObject([{ source: at('data/in'), inode: expect.stringMatching(/^\d+$/) as string }]);
});

test.for([
  ['in a writable one', ['data', true], ['data/in', false]],
  ['in a writable one that comes later', ['data/in', false], ['data', true]],
  ['that is writable itself', ['data', true], ['data/in', true]],
  ['of the same directory', ['data', true], ['data', false]],
  ['of the same directory by a link', ['data', true], ['link', false]],
  ['in a writable one by a link', ['link', true], ['data/in', false]],
] as const)('a mount %s is refused', ([, ...wanted]) => {
  const { table, at } = setUp();
  symlinkSync('data', at('link'));
  expect(() => table.hold(wanted.map(([name, writable]) => mount(at(name), writable)))).toThrow(REFUSED);
});

test('a writable mount in a read-only one is allowed, and so are read-only ones in each other', () => {
  const { table, at } = setUp();
  using held = table.hold([mount(at('data')), mount(at('data')), mount(at('data/in'), true)]);
  expect(held.mounts).toHaveLength(3);
});

test.for(['.', 'sessions', 'sessions/one/workspace', 'run'])(
  'a directory that the engine uses cannot be written: %s',
  (name) => {
    const { table, at } = setUp();
    mkdirSync(at('sessions/one/workspace'), { recursive: true });
    expect(() => table.hold([mount(at(name), true)])).toThrow(REFUSED);
    table.hold([mount(at(name))])[Symbol.dispose]();
  },
);

test('a link in a directory that sessions could write is not followed, however long ago', () => {
  const { table, at } = setUp();
  table.hold([mount(at('data'), true)])[Symbol.dispose]();
  rmSync(at('data/in'), { recursive: true });
  symlinkSync('/etc', at('data/in'));
  symlinkSync('data/in', at('trusted'));
  mkdirSync(at('sessions/one'));
  symlinkSync('/etc', at('sessions/one/link'));
  for (const name of ['data/in', 'data/in/ssl', 'trusted', 'sessions/one/link', 'data/in/../in']) {
    expect(() => table.hold([mount(at(name))])).toThrow(REFUSED);
  }
});

test('what does not exist, and links that lead in a circle, are refused', () => {
  const { table, at } = setUp();
  symlinkSync('circle', at('circle'));
  for (const name of ['none', 'data/in/none/x', 'circle']) expect(() => table.hold([mount(at(name))])).toThrow(REFUSED);
});

test('what is held stays what it is, and is let go', () => {
  const { table, at } = setUp();
  const before = readdirSync('/proc/self/fd').length;
  const held = table.hold([mount(at('data')), mount(at('other'), true)]);
  renameSync(at('data'), at('away'));
  mkdirSync(at('data'));
  using later = table.hold([mount(at('data'))]);
  expect(later.mounts[0]?.inode).not.toBe(held.mounts[0]?.inode);
  held[Symbol.dispose]();
  expect(() => table.hold([mount(at('other')), mount(at('none'))])).toThrow(REFUSED);
  expect(readdirSync('/proc/self/fd').length).toBe(before + 1);
});
