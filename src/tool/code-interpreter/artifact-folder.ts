import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseConfig } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import { Once } from '../../once.ts';
import { DirectoryWorkspace } from '../../workspace/directory-workspace.ts';
import { errnoOf } from '../../workspace/errno.ts';
import { closing } from '../../workspace/file-source.ts';
import { isHiddenPath, isPlainPath, showName } from '../../workspace/names.ts';
import type { FileSource } from '../../workspace/workspace.ts';

const DAY_MS = 24 * 3_600_000;

/** A copy of a file that a run produced. */
export type StoredFile = {
  /** Absolute path on the machine. */
  readonly path: string;
  readonly size: number;
};

/** A directory of the machine for the files of runs, with a folder for each run. */
export class ArtifactFolder {
  readonly #given: string | undefined;
  readonly #directory = new Once(() => this.#prepare());

  /** By default it is in the data directory, where old files are removed. */
  constructor(given: string | undefined) {
    this.#given = given;
  }

  async beginRun(): Promise<RunFolder> {
    const directory = await this.#directory.get();
    return new RunFolder(path.join(directory, randomUUID()));
  }

  async #prepare(): Promise<string> {
    if (this.#given !== undefined) return path.resolve(this.#given);
    const { dataDir, artifactDays } = parseConfig({});
    const root = path.join(dataDir, 'tool-artifacts');
    await removeOlder(root, artifactDays * DAY_MS);
    return path.join(root, randomUUID());
  }
}

/** A folder for copies of what runs made, under the names that they gave it. It is created with its first file. */
export class RunFolder {
  readonly #directory: string;
  readonly #isReplacing: boolean;
  readonly #written = new Set<string>();

  /** With `isReplacing`, files that are there already are replaced. */
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
    if (this.#written.size === 0) await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const directory = new DirectoryWorkspace({ path: this.#directory, uid: process.getuid?.() ?? 0 });
    const mustBeNew = !this.#isReplacing && !this.#written.has(name);
    const size = await directory.write(name, source, { maxBytes, mustBeNew });
    this.#written.add(name);
    return { path: path.join(this.#directory, name), size };
  }
}

/** The directory itself while nothing is in it, and otherwise a new one in it: a program must not choose its neighbours. */
export async function freshFolder(directory: string): Promise<RunFolder> {
  const found = await readdir(directory).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  });
  if (found.length === 0) return new RunFolder(directory);
  for (let number = 1; ; number += 1) {
    const fresh = path.join(directory, `vivarium-${number}`);
    try {
      await mkdir(fresh, { mode: 0o700 });
      return new RunFolder(fresh);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }
}

/** The name for the full text of a long output: one that no file of the run has. */
export function outputName(stream: string, taken: { has(name: string): boolean }, number = 1): string {
  const name = `output/${stream}${number === 1 ? '' : `-${number}`}.txt`;
  return taken.has(name) ? outputName(stream, taken, number + 1) : name;
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
