import { existsSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SandboxPlaces } from './place.ts';

async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'viv-places-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test('a sandbox has three directories that nobody else can enter', async () => {
  await using places = await SandboxPlaces.open(await makeDirectory());
  const place = await places.make('one');
  for (const each of [place.home, place.temporary, place.trash]) expect(statSync(each).mode & 0o777).toBe(0o700);
  writeFileSync(path.join(place.home, 'file'), 'x');
  await places.remove('one');
  expect(existsSync(path.dirname(place.home))).toBe(false);
});

test('when a server is closed nothing of it is left', async () => {
  const directory = await makeDirectory();
  const places = await SandboxPlaces.open(directory);
  await places.make('one');
  await places[Symbol.asyncDispose]();
  expect(readdirSync(directory)).toEqual(['.claim']);
});

test('what a dead server has left is removed, and what a living one has is not', async () => {
  const directory = await makeDirectory();
  await using living = await SandboxPlaces.open(directory);
  const place = await living.make('one');
  const [dead, strange] = [path.join(directory, '0123456789abcdef'), path.join(directory, 'somebody-else')];
  await mkdir(path.join(dead, 'two', 'home'), { recursive: true });
  symlinkSync(place.home, path.join(dead, 'two', 'home', 'way'));
  writeFileSync(path.join(place.home, 'kept'), 'x');
  await mkdir(strange);
  await using _ = await SandboxPlaces.open(directory);
  expect(existsSync(dead)).toBe(false);
  expect(existsSync(strange)).toBe(true);
  expect(readdirSync(place.home)).toEqual(['kept']);
});

test('servers that start at the same time do not remove each other', async () => {
  const directory = await makeDirectory();
  const all = await Promise.all(Array.from({ length: 5 }, () => SandboxPlaces.open(directory)));
  const made = await Promise.all(all.map((places) => places.make('one')));
  expect(made.every(({ home }) => existsSync(home))).toBe(true);
  await Promise.all(all.map((places) => places[Symbol.asyncDispose]()));
});
