import { constants, copyFileSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as letOthersGo } from 'node:timers/promises';
import { z } from 'zod';

/** What an unpacked wheel holds; see python/_vivarium/wheels/unpack.py. */
export const TreeFacts = z.object({ files: z.array(z.string()), scripts: z.record(z.string(), z.string()) });
export type TreeFacts = z.infer<typeof TreeFacts>;

/** So many links are made before others get their turn: a millisecond or two. The thread pool takes ten times as long. */
const AT_ONCE = 100;

/** Shows an unpacked wheel in a session's directory of packages: modules in `site`, commands in `bin`. */
export async function linkTree(source: string, directory: string, { files, scripts }: TreeFacts): Promise<void> {
  const site = path.join(directory, 'site');
  const folders = [...new Set(files.map((file) => path.dirname(file)))].filter((folder) => folder !== '.');
  await inPieces(folders, (folder) => mkdirSync(path.join(site, folder), { recursive: true, mode: 0o755 }));
  await inPieces(files, (file) => show(path.join(source, file), path.join(site, file)));
  await inPieces(Object.entries(scripts), ([name, call]) => writeScript(path.join(directory, 'bin', name), call));
}

async function inPieces<T>(all: readonly T[], work: (one: T) => void): Promise<void> {
  for (let start = 0; start < all.length; start += AT_ONCE) {
    if (start > 0) await letOthersGo();
    for (const one of all.slice(start, start + AT_ONCE)) work(one);
  }
}

/** Links do not reach other disks, and a file has a largest number of them. */
function show(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return; // packages that share a file have it from the first of them
    if (code !== 'EXDEV' && code !== 'EMLINK' && code !== 'EPERM') throw error;
    copyFileSync(source, target, constants.COPYFILE_EXCL);
  }
}

/** Both names were checked when the wheel was unpacked. */
function writeScript(file: string, call: string): void {
  const [module, attribute] = call.split(':') as [string, string];
  const [first] = attribute.split('.') as [string];
  const code = `#!/usr/bin/env python3\nimport sys\nfrom ${module} import ${first}\nsys.exit(${attribute}())\n`;
  try {
    writeFileSync(file, code, { flag: 'wx', mode: 0o755 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
