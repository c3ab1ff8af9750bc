/** Files that the user gives as options. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { VivariumError } from '../../errors.ts';
import type { Context } from '../terminal/context.ts';

/** Absolute paths of the files, by the names they get in the session. */
export async function namedFiles(files: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const named = new Map<string, string>();
  for (const file of files) {
    const name = path.basename(file);
    const stats = await stat(file).catch((error: unknown) => unreadable(`--file ${file}`, error));
    if (!stats.isFile())
      throw new VivariumError('USAGE', `--file ${file} is not a file. Give each file with a --file of its own.`);
    if (named.has(name)) {
      throw new VivariumError(
        'USAGE',
        `Two files are named ${name}, and both go into one directory. Rename one of them.`,
      );
    }
    named.set(name, path.resolve(file));
  }
  return named;
}

/** The text of a file, or of standard input for `-`. */
export async function readGiven(option: string, file: string, { stdin }: Context): Promise<string> {
  if (file === '-') return text(stdin);
  return readFile(file, 'utf8').catch((error: unknown) => unreadable(`${option} ${file}`, error));
}

function unreadable(what: string, error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new VivariumError('USAGE', `Cannot read ${what}: ${why}. Check the path.`, { cause: error });
}
