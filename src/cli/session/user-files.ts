/** Files that the user names in options. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { VivariumError } from '../../errors.ts';
import type { Context } from '../terminal/context.ts';

/** Each file by the name that it has in the session. */
export async function namedFiles(files: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const named = new Map<string, string>();
  for (const file of files) {
    const name = path.basename(file);
    const stats = await stat(file).catch((error: unknown) => unreadable(`--file ${file}`, error));
    if (!stats.isFile()) throw new VivariumError('USAGE', `--file ${file} is not a file. Name files one by one.`);
    if (named.has(name)) {
      throw new VivariumError('USAGE', `There are two files named ${name}. Rename one: both go into one directory.`);
    }
    named.set(name, path.resolve(file));
  }
  return named;
}

/** The text of a file, or of standard input when it is named `-`. */
export async function readGiven(option: string, file: string, { stdin }: Context): Promise<string> {
  if (file === '-') return text(stdin);
  return readFile(file, 'utf8').catch((error: unknown) => unreadable(`${option} ${file}`, error));
}

function unreadable(what: string, error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new VivariumError('USAGE', `${what} cannot be read: ${why}. Check the path.`, { cause: error });
}
