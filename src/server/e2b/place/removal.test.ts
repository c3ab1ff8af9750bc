import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { emptyDirectory } from './removal.ts';

let directory: string;
const at = (...names: string[]): string => path.join(directory, ...names);
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'viv-removal-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
});

test('everything in a directory goes, and the directory stays', async () => {
  mkdirSync(at('a/b/c'), { recursive: true });
  mkdirSync(at('a/b2'));
  for (const name of ['x', 'a/x', 'a/b/x', 'a/b/c/x', 'a/b2/x']) writeFileSync(at(name), name);
  await emptyDirectory(directory);
  expect(readdirSync(directory)).toEqual([]);
});

test('one name can be left', async () => {
  for (const name of ['kept', 'other']) writeFileSync(at(name), '');
  await emptyDirectory(directory, { except: 'kept' });
  expect(readdirSync(directory)).toEqual(['kept']);
});

test('links are removed, and not what they lead to', async () => {
  mkdirSync(at('target'));
  mkdirSync(at('tree/inner'), { recursive: true });
  writeFileSync(at('target/file'), 'kept');
  symlinkSync(at('target'), at('tree/way'));
  symlinkSync(at('target/file'), at('tree/inner/way'));
  await emptyDirectory(at('tree'));
  expect(readdirSync(at('tree'))).toEqual([]);
  expect(readFileSync(at('target/file'), 'utf8')).toBe('kept');
});

test('names that are not text and directories that are locked are no obstacle', async () => {
  mkdirSync(at('locked/inner'), { recursive: true });
  writeFileSync(Buffer.concat([Buffer.from(at('locked/inner/')), Buffer.from([0xff, 0xfe])]), '');
  mkdirSync(Buffer.concat([Buffer.from(at('locked/')), Buffer.from([0xe4])]));
  for (const name of ['locked/inner', 'locked']) chmodSync(at(name), 0);
  await emptyDirectory(directory);
  expect(readdirSync(directory)).toEqual([]);
});

test('a tree that is deeper than any path is removed', async () => {
  mkdirSync(at('deep'));
  const home = process.cwd();
  try {
    process.chdir(at('deep'));
    for (let depth = 0; depth < 1500; depth += 1) {
      mkdirSync('directory');
      process.chdir('directory');
    }
  } finally {
    process.chdir(home);
  }
  await emptyDirectory(directory);
  expect(existsSync(at('deep'))).toBe(false);
});
