import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lookAt } from './look.ts';
import { MAX_DEPTH, walk } from './walk.ts';
import type { SeenFile } from './workspace.ts';

function scratch(): { root: string; inside: (...names: string[]) => string } {
  const base = mkdtempSync(path.join(tmpdir(), 'viv-look-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const root = path.join(base, 'workspace');
  mkdirSync(root);
  return { root, inside: (...names) => path.join(root, ...names) };
}

async function look(root: string, paths: readonly string[]): Promise<Map<string, SeenFile | null>> {
  const seen = new Map<string, SeenFile | null>();
  await lookAt(root, paths, { uid: process.getuid?.() ?? 0, visit: (name, file) => void seen.set(name, file) });
  return seen;
}

test('a file is described as a walk describes it', async () => {
  const { root, inside } = scratch();
  mkdirSync(inside('a', 'b'), { recursive: true });
  for (const name of ['top', 'a/one', 'a/b/two', 'a/b/three']) writeFileSync(inside(name), name);
  linkSync(inside('top'), inside('a', 'second name'));
  const { files } = await walk(root);
  const seen = await look(
    root,
    files.map((file) => file.path),
  );
  expect(files.length).toBe(5);
  for (const file of files) expect(seen.get(file.path)).toEqual({ ...file, bornNs: expect.any(BigInt) as unknown });
});

test('what a walk would not list as a file is none', async () => {
  const { root, inside } = scratch();
  const outside = path.join(root, '..', 'outside');
  mkdirSync(outside);
  writeFileSync(path.join(outside, 'secret'), 'secret');
  mkdirSync(inside('folder'));
  writeFileSync(inside('file'), '');
  writeFileSync(inside('.upload-0123456789abcdef'), '');
  symlinkSync('../outside', inside('link'));
  symlinkSync('../outside/secret', inside('file-link'));
  const deep = Array.from({ length: MAX_DEPTH + 1 }, () => 'd');
  mkdirSync(inside(...deep), { recursive: true });
  writeFileSync(inside(...deep, 'file'), '');
  const links = ['link', 'link/secret', 'file-link', '../outside/secret', '/etc/passwd'];
  const others = ['folder', '.', '', 'file/below', 'gone', 'gone/below', '.upload-0123456789abcdef'];
  const paths = [...links, ...others, 'x'.repeat(300), 'a\nb', '\uDCFF', [...deep, 'file'].join('/')];
  const seen = await look(root, paths);
  expect(seen.size).toBe(paths.length);
  expect([...seen].filter(([, file]) => file !== null)).toEqual([]);
});
