/** Files that the user gives as options. */
import { access, constants, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { VivariumError } from '../../errors.ts';
import { isPlainPath } from '../../workspace/names.ts';
import type { Context } from '../terminal/context.ts';

/** Each is copied by itself. A mount shows any number of files at once. */
const MAX_FILES = 500;

/**
 * Absolute paths of files, by the names they get in the session. A directory stands for all files in it. `PATH=NAME`
 * gives another name.
 */
export async function namedFiles(
  given: readonly string[],
  { takesDirectories = true }: { readonly takesDirectories?: boolean } = {},
): Promise<ReadonlyMap<string, string>> {
  const named = new Map<string, string>();
  for (const one of given) {
    const { file, name, stats } = await find(one);
    if (!isPlainPath(name)) {
      throw new VivariumError(
        'USAGE',
        `--file ${one}: "${name}" cannot be a name in the session. Give a path relative to its directory, such as data/table.csv.`,
      );
    }
    if (stats.isDirectory() && !takesDirectories)
      throw new VivariumError('USAGE', `--file ${one} is not a file. Give each file with a --file of its own.`);
    if (stats.isDirectory()) await addDirectory(named, file, name);
    else if (stats.isFile()) add(named, file, name);
    else throw new VivariumError('USAGE', `--file ${one} is neither a file nor a directory. Give one of these.`);
  }
  for (const file of named.values()) {
    await access(file, constants.R_OK).catch((error: unknown) => unreadable(`--file ${file}`, error));
  }
  return named;
}

type Found = { readonly file: string; readonly name: string; readonly stats: Awaited<ReturnType<typeof stat>> };

/** A path that exists is taken as it is, even if it contains "=". */
async function find(given: string): Promise<Found> {
  const whole = await stat(given).catch((error: unknown) => error);
  const split = given.lastIndexOf('=');
  if (!(whole instanceof Error) || split < 0) {
    if (whole instanceof Error) return unreadable(`--file ${given}`, whole);
    const file = path.resolve(given);
    return { file, name: path.basename(file), stats: whole as Found['stats'] };
  }
  const file = given.slice(0, split);
  const stats = await stat(file).catch((error: unknown) => unreadable(`--file ${file}`, error));
  return { file: path.resolve(file), name: path.normalize(given.slice(split + 1)).replace(/\/$/, ''), stats };
}

async function addDirectory(named: Map<string, string>, directory: string, name: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: unknown) =>
    unreadable(`--file ${directory}`, error),
  );
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const [file, inner] = [path.join(directory, entry.name), `${name}/${entry.name}`];
    if (entry.isDirectory()) {
      await addDirectory(named, file, inner);
      continue;
    }
    const stats = await stat(file).catch((error: unknown) => unreadable(`--file ${file}`, error));
    if (stats.isFile()) add(named, file, inner);
    else {
      const what = stats.isDirectory() ? 'a link to a directory' : 'neither a file nor a directory';
      throw new VivariumError(
        'USAGE',
        `--file ${directory} contains ${file}, which is ${what}. Give its files by name.`,
      );
    }
  }
}

function add(named: Map<string, string>, file: string, name: string): void {
  if (named.has(name) && named.get(name) !== file) {
    throw new VivariumError(
      'USAGE',
      `Two files would be ${name} in the session. Give one of them another name: --file PATH=NAME.`,
    );
  }
  named.set(name, file);
  if (named.size > MAX_FILES) {
    throw new VivariumError(
      'USAGE',
      `--file names more than ${MAX_FILES} files. Show the directory without a copy instead: --mount PATH:/data.`,
    );
  }
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
