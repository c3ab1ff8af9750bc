import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseConfig } from '../../config.ts';
import { Once } from '../../once.ts';
import { DirectoryWorkspace } from '../../workspace/directory-workspace.ts';
import { closing } from '../../workspace/file-source.ts';
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

/** The folder of one run. It is created with its first file. */
export class RunFolder {
  readonly #directory: string;
  #isMade = false;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Keeps the name that the run gave the file. A name that leads out of the folder is refused. */
  async add(name: string, source: FileSource, maxBytes: number): Promise<StoredFile> {
    using _ = closing(source);
    if (!this.#isMade) await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    this.#isMade = true;
    const directory = new DirectoryWorkspace({ path: this.#directory, uid: process.getuid?.() ?? 0 });
    const size = await directory.write(name, source, { maxBytes });
    return { path: path.join(this.#directory, name), size };
  }
}

/** The age of a tool's folder is that of its last run. */
async function removeOlder(root: string, maxAgeMs: number): Promise<void> {
  for (const name of await readdir(root).catch(() => [])) {
    const folder = path.join(root, name);
    const stats = await stat(folder).catch(() => null); // another process removed it
    if (stats !== null && Date.now() - stats.mtimeMs > maxAgeMs) await rm(folder, { recursive: true, force: true });
  }
}
