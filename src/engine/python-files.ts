import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The Python side lies beside `src` as well as beside `dist`: the same depth from both. */
export const ZYGOTE_FILE = fileURLToPath(new URL('../../python/zygote.py', import.meta.url));

const SIDE = new URL('../../python/', import.meta.url);
const PACKAGES = ['cell', 'encode', 'show', 'kernel'];

/** The text of a file of the Python side, for code that brings it along. */
export function readPython(file: string): Promise<string> {
  return readFile(new URL(file, SIDE), 'utf8');
}

/** The sources of the Python side that have no need of a process of ours, by the names of their modules. */
export async function readSources(): Promise<Record<string, string>> {
  const entries = await Promise.all(
    PACKAGES.map(async (folder) => {
      const names = (await readdir(new URL(folder, SIDE))).filter((name) => name.endsWith('.py'));
      return await Promise.all(names.map((name) => readSource(folder, name)));
    }),
  );
  return Object.fromEntries(entries.flat());
}

async function readSource(folder: string, name: string): Promise<[string, string]> {
  const module = name === '__init__.py' ? folder : `${folder}.${name.slice(0, -'.py'.length)}`;
  return [module, await readPython(`${folder}/${name}`)];
}
