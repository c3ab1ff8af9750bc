import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The Python side lies beside `src` as well as beside `dist`: the same depth from both. */
export const ZYGOTE_FILE = fileURLToPath(new URL('../../python/zygote.py', import.meta.url));

/** The text of a file of the Python side, for code that brings it along. */
export function readPython(file: string): Promise<string> {
  return readFile(new URL(`../../python/${file}`, import.meta.url), 'utf8');
}
