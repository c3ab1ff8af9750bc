import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** `python` lies beside `src` and beside `dist`, so the path from both is the same. */
const PACKAGE = new URL('../../python/_vivarium/', import.meta.url);

/** The script that starts a zygote. */
export const ZYGOTE_FILE = fileURLToPath(new URL('zygote/__main__.py', PACKAGE));

/** What a Jupyter kernel gets: everything that needs no process of ours. */
const KERNEL_FOLDERS = ['values', 'cell', 'display', 'display/chart', 'ledger', 'jupyter'];

/** Code that is sent into sessions as text, each a file of `python/_vivarium/payloads`. */
export type Payload = 'context' | 'effects' | 'read_only_guard' | 'result_types';

/** The text of a payload, which needs nothing but Python's standard library. */
export function readPayload(name: Payload): Promise<string> {
  return readFile(new URL(`payloads/${name}.py`, PACKAGE), 'utf8');
}

/** A Python module as text, and the name that others import it by. */
export interface ModuleSource {
  readonly name: string;
  readonly source: string;
}

/** Modules of the analysis payload, each after those that it imports. */
const ANALYSIS = 'payloads/analysis';
const ANALYSIS_FILES = ['__init__.py', 'syntax.py', 'scopes.py', 'names.py', 'report.py'];

export function readAnalysis(): Promise<ModuleSource[]> {
  return Promise.all(ANALYSIS_FILES.map((file) => readModule(`${ANALYSIS}/${file}`)));
}

/** The sources that a Jupyter kernel gets, by the names of their modules. */
export async function readKernelSources(): Promise<Record<string, string>> {
  const files = await Promise.all(
    KERNEL_FOLDERS.map(async (folder) => {
      const names = (await readdir(new URL(folder, PACKAGE))).filter((name) => name.endsWith('.py'));
      return names.map((name) => `${folder}/${name}`);
    }),
  );
  const modules = await Promise.all(['__init__.py', ...files.flat()].map(readModule));
  return Object.fromEntries(modules.map(({ name, source }) => [name, source]));
}

async function readModule(file: string): Promise<ModuleSource> {
  const parts = ['_vivarium', ...file.slice(0, -'.py'.length).split('/')].filter((part) => part !== '__init__');
  return { name: parts.join('.'), source: await readFile(new URL(file, PACKAGE), 'utf8') };
}
