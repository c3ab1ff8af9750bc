import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseConfig } from '../../config.ts';
import { DirectoryWorkspace } from '../../workspace/directory-workspace.ts';
import type { FileSource } from '../../workspace/workspace.ts';

const DAY_MS = 24 * 3_600_000;

/** A file that a run produced, where the host finds it. */
export type StoredFile = {
  /** On the host, absolute. */
  readonly path: string;
  readonly size: number;
};

/** A directory of the host for what runs produce, a folder in it for each run. */
export class ArtifactFolder {
  readonly #given: string | undefined;
  #directory: Promise<string> | undefined;

  /** Without a directory there is one in the data directory, and what is too old there is removed. */
  constructor(given: string | undefined) {
    this.#given = given;
  }

  async beginRun(): Promise<RunFolder> {
    const directory = await (this.#directory ??= this.#prepare());
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

/** Where the files of one run go. It is made with the first of them. */
export class RunFolder {
  readonly #directory: string;
  #isMade = false;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Under the name that the run gave it; a name that leads elsewhere is refused. */
  async add(name: string, source: FileSource, maxBytes: number): Promise<StoredFile> {
    if (!this.#isMade) await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    this.#isMade = true;
    const directory = new DirectoryWorkspace({ path: this.#directory, uid: process.getuid?.() ?? 0 });
    const size = await directory.write(name, source, { maxBytes });
    return { path: path.join(this.#directory, name), size };
  }
}

/** A tool's folder is as old as its last run. */
async function removeOlder(root: string, maxAgeMs: number): Promise<void> {
  for (const name of await readdir(root).catch(() => [])) {
    const folder = path.join(root, name);
    const stats = await stat(folder).catch(() => null); // removed by somebody else meanwhile
    if (stats !== null && Date.now() - stats.mtimeMs > maxAgeMs) await rm(folder, { recursive: true, force: true });
  }
}
