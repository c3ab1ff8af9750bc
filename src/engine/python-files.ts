import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { VivariumError } from '../errors.ts';
import { Once } from '../once.ts';
import { describeFault, errnoOf } from '../workspace/errno.ts';

/** `python` lies beside `src` and beside `dist`, so the path from both is the same. */
const PACKAGE = new URL('../../python/_vivarium/', import.meta.url);

/** The script that starts a zygote. */
export const ZYGOTE_FILE = fileURLToPath(new URL('zygote/__main__.py', PACKAGE));

/** The script that starts a gate. */
export const GATE_FILE = fileURLToPath(new URL('gate/__main__.py', PACKAGE));

/** The script that starts the process that unpacks wheels. */
export const UNPACKER_FILE = fileURLToPath(new URL('wheels/__main__.py', PACKAGE));

/** What a Jupyter kernel gets: everything that needs no process of ours. */
const KERNEL_FOLDERS = [
  'values',
  'cell',
  'completion',
  'display',
  'display/chart',
  'display/pretty',
  'ledger',
  'ledger/libraries',
  'jupyter',
];

/** Code that is sent into sessions as text, each a file of `python/_vivarium/payloads`. */
export type Payload = 'channel_limits' | 'context' | 'effects' | 'fetch_wheels' | 'read_only_notice' | 'result_types';

/** What the machine lacks. Any other fault is one of the file, which came with the package. */
const MACHINE_FAULTS = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EIO']);

const payloads = new Map<Payload, Once<string>>();

/** The text of a payload, which needs nothing but Python's standard library. Its file is read once. */
export function readPayload(name: Payload): Promise<string> {
  const reading = payloads.get(name) ?? new Once(() => readOwn(`payloads/${name}.py`));
  payloads.set(name, reading);
  return reading.get();
}

/** A Python module as text, and the name that others import it by. */
export interface ModuleSource {
  readonly name: string;
  readonly source: string;
}

/** Modules of the analysis payload, each after those that it imports. */
const ANALYSIS_FILES = [
  'notebook/syntax.py',
  'notebook/expansion.py',
  ...['__init__', 'notebook', 'syntax', 'scopes', 'names', 'expressions', 'report'].map(
    (name) => `payloads/analysis/${name}.py`,
  ),
];

export function readAnalysis(): Promise<ModuleSource[]> {
  return Promise.all(ANALYSIS_FILES.map((file) => readModule(file)));
}

/** The sources that a Jupyter kernel gets, by the names of their modules. */
export async function readKernelSources(): Promise<Record<string, string>> {
  const files = await Promise.all(
    KERNEL_FOLDERS.map(async (folder) => {
      const names = await readdir(new URL(folder, PACKAGE)).catch((error: unknown) => fail(error, folder));
      return names.filter((name) => name.endsWith('.py')).map((name) => `${folder}/${name}`);
    }),
  );
  const modules = await Promise.all(['__init__.py', ...files.flat()].map(readModule));
  return Object.fromEntries(modules.map(({ name, source }) => [name, source]));
}

async function readModule(file: string): Promise<ModuleSource> {
  const parts = ['_vivarium', ...file.slice(0, -'.py'.length).split('/')].filter((part) => part !== '__init__');
  return { name: parts.join('.'), source: await readOwn(file) };
}

function readOwn(file: string): Promise<string> {
  return readFile(new URL(file, PACKAGE), 'utf8').catch((error: unknown) => fail(error, file));
}

/** Throws an error of the operating system in our words, and any other error as it is. */
function fail(error: unknown, name: string): never {
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  const remedy = MACHINE_FAULTS.has(errno) ? describeFault(error) : undefined;
  throw new VivariumError(
    'STORAGE_FAILED',
    `${fileURLToPath(new URL(name, PACKAGE))}, which is part of Vivarium, could not be read: ${remedy ?? `${errno}. Install the package again`}.`,
    { cause: error },
  );
}
