import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { Limits, parse } from '../../../config.ts';
import type { Ceiling } from './ceiling.ts';
import { followLinks } from './mount-sources.ts';

let root: string;
let ceiling: Ceiling;

beforeAll(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'viv-mounts-')));
  await mkdir(path.join(root, 'real/inside'), { recursive: true });
  await mkdir(path.join(root, 'outside'));
  await symlink('real', path.join(root, 'allowed'));
  await symlink('inside', path.join(root, 'real/short'));
  await symlink('../outside', path.join(root, 'real/way-out'));
  const mounts = [{ source: path.join(root, 'allowed'), target: '/data', writable: false }];
  ceiling = { mounts, network: false, packages: 'none', limits: parse(Limits, {}) };
  return () => rm(root, { recursive: true, force: true });
});

function follow(name: string): Promise<unknown> {
  return followLinks([{ source: path.join(root, name), target: '/x' }], ceiling);
}

test('a link that stays inside is followed, and so is an allowed directory that is a link', async () => {
  await expect(follow('allowed/short')).resolves.toEqual([{ source: path.join(root, 'real/inside'), target: '/x' }]);
  await expect(follow('allowed')).resolves.toEqual([{ source: path.join(root, 'real'), target: '/x' }]);
});

test('a link that leads out of an allowed directory is refused, without a word about where it leads', async () => {
  const refused = await follow('allowed/way-out').catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'FORBIDDEN' });
  expect(String(refused)).toContain('allowed/way-out');
  expect(String(refused)).not.toContain('outside');
});

test('what is not there is told only inside of allowed directories', async () => {
  await expect(follow('allowed/missing')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(follow('outside')).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await expect(follow('nowhere')).rejects.toMatchObject({ code: 'FORBIDDEN' });
});
