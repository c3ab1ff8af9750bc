import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseConfig } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import { Once } from '../../once.ts';
import { DirectoryWorkspace } from '../../workspace/directory-workspace.ts';
import { errnoOf } from '../../workspace/errno.ts';
import { closing } from '../../workspace/file-source.ts';
import { HeldDirectory } from '../../workspace/held-directory.ts';
import { isHiddenPath, isPlainPath, MAX_PATH_BYTES, showName } from '../../workspace/names.ts';
import { withoutLinks } from '../../workspace/place.ts';
import type { FileSource } from '../../workspace/workspace.ts';

const DAY_MS = 24 * 3_600_000;

/** A copy of a file that a run produced. */
export type StoredFile = {
  /** Absolute path on the machine. */
  readonly path: string;
  readonly size: number;
};

/**
 * A directory of the machine for the files of runs, with a folder for each run. It may lie in a directory that sessions
 * can write, so no link is followed that was put on the way to it later.
 */
export class ArtifactFolder {
  readonly #given: string | undefined;
  readonly #directory = new Once(() => this.#prepare());

  /** By default it is in the data directory, where old files are removed. */
  constructor(given: string | undefined) {
    this.#given = given === undefined ? undefined : withoutLinks(given);
  }

  async beginRun(): Promise<RunFolder> {
    const directory = await this.#directory.get();
    return new RunFolder(path.join(directory, randomUUID()));
  }

  async #prepare(): Promise<string> {
    if (this.#given !== undefined) return this.#given;
    const { dataDir, artifactDays } = parseConfig({});
    const root = path.join(dataDir, 'tool-artifacts');
    await removeOlder(root, artifactDays * DAY_MS);
    return path.join(withoutLinks(root), randomUUID());
  }
}

/** A folder for copies of what runs made, under the names that they gave it. It is created with its first file. */
export class RunFolder {
  readonly #directory: string;
  readonly #isReplacing: boolean;
  readonly #written = new Set<string>();

  /** A path without links; see `withoutLinks`. With `isReplacing`, files that are there already are replaced. */
  constructor(directory: string, { isReplacing = false }: { readonly isReplacing?: boolean } = {}) {
    this.#directory = directory;
    this.#isReplacing = isReplacing;
  }

  /**
   * Refuses a name that leads out of the folder or belongs to a file that this folder did not write, and hidden names:
   * `.git/config` or `.envrc` would be settings of other programs.
   */
  async add(name: string, source: FileSource, maxBytes: number): Promise<StoredFile> {
    using _ = closing(source);
    if (isPlainPath(name) && isHiddenPath(name)) throw hidden(name);
    const target = path.join(this.#directory, name);
    if (Buffer.byteLength(target) >= MAX_PATH_BYTES) throw tooLong(name);
    if (this.#written.size === 0) reach(this.#directory, 0o700)?.[Symbol.dispose]();
    const directory = new DirectoryWorkspace({ path: this.#directory, uid: process.getuid?.() ?? 0, isReached: true });
    const mustBeNew = !this.#isReplacing && !this.#written.has(name);
    const size = await directory.write(name, source, { maxBytes, mustBeNew });
    this.#written.add(name);
    return { path: target, size };
  }
}

/** The directory itself while nothing is in it, and otherwise a new one in it: a program must not choose its neighbours. */
export async function freshFolder(directory: string): Promise<RunFolder> {
  using held = reach(directory);
  if (held === null || held.entries().next().done === true) return new RunFolder(directory);
  for (let number = 1; ; number += 1) {
    const name = `vivarium-${number}`;
    try {
      held.makeDirectory(name, 0o700);
      return new RunFolder(path.join(directory, name));
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }
}

/** Where a folder is that the user names, before any code runs: that could put links on the way. */
export function locateFolder(directory: string): string {
  return withoutLinks(directory);
}

/** Null if it is not there and there is no `mode` to make it with. Without the folder no file can be kept. */
function reach(directory: string, mode?: number): HeldDirectory | null {
  try {
    return HeldDirectory.reach(directory, mode);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' && mode === undefined) return null;
    const reason = code === 'ENOTDIR' || code === 'ELOOP' ? 'a link or a file stands on the way to it' : String(error);
    const words = `The folder ${directory} cannot be used: ${reason}. Name another one.`;
    throw Object.assign(new Error(words, { cause: error }), { code });
  }
}

/** The name for the full text of a long output: one that no file of the run has. */
export function outputName(stream: string, taken: { has(name: string): boolean }, number = 1): string {
  const name = `output/${stream}${number === 1 ? '' : `-${number}`}.txt`;
  return taken.has(name) ? outputName(stream, taken, number + 1) : name;
}

function tooLong(name: string): VivariumError {
  const shown = `${name.slice(0, 100)}…`;
  return new VivariumError('FILE_REFUSED', `"${shown}" is too long a path. Give it a shorter one in the session.`);
}

function hidden(name: string): VivariumError {
  return new VivariumError(
    'FILE_REFUSED',
    `"${showName(Buffer.from(name))}" is hidden: a part of its path begins with a dot. Give it another name in the session.`,
  );
}

/** The age of a tool's folder is that of its last run. */
async function removeOlder(root: string, maxAgeMs: number): Promise<void> {
  for (const name of await readdir(root).catch(() => [])) {
    const folder = path.join(root, name);
    const stats = await stat(folder).catch(() => null); // another process removed it
    if (stats !== null && Date.now() - stats.mtimeMs > maxAgeMs) await rm(folder, { recursive: true, force: true });
  }
}
