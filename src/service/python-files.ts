import { readFile } from 'node:fs/promises';

/** Files of the Python side whose text the service sends into sessions and writes into notebooks. */
export type PythonFile = 'cell/context.py' | 'cell/result_types.py';

/** The Python side lies beside `src` as well as beside `dist`: the same depth from both. */
export function readPythonFile(name: PythonFile): Promise<string> {
  return readFile(new URL(`../../python/${name}`, import.meta.url), 'utf8');
}
