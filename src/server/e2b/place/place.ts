import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { claim, tryClaim } from '../../../environment/claim.ts';
import { HeldDirectory } from '../../../workspace/held-directory.ts';
import { emptyDirectory } from './removal.ts';

const CLAIM = 'claim';

/** The directories of one sandbox on this machine. Its sessions can write the first two, so what is in them is hostile. */
export interface SandboxPlace {
  /** Is `/home/user` in each of its sessions. */
  readonly home: string;
  /** Is `/tmp` there. */
  readonly temporary: string;
  /** What is being removed. No session sees it. */
  readonly trash: string;
}

/** Where the directories of sandboxes are: in one of this server's own, which the next server removes if this one dies. */
export class SandboxPlaces implements AsyncDisposable {
  readonly #directory: string;
  readonly #claim: Disposable;

  private constructor(directory: string, held: Disposable) {
    this.#directory = directory;
    this.#claim = held;
  }

  static async open(directory: string): Promise<SandboxPlaces> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    // A directory that was just made and is not claimed yet must not be taken for one that was left.
    using _ = await claim(path.join(directory, '.claim'), { onWait: () => undefined });
    await removeAbandoned(directory);
    const own = path.join(directory, randomBytes(8).toString('hex'));
    await mkdir(own, { mode: 0o700 });
    const held = tryClaim(path.join(own, CLAIM));
    if (held === undefined) throw new TypeError('a directory of random name is claimed by another');
    return new SandboxPlaces(own, held);
  }

  async make(id: string): Promise<SandboxPlace> {
    const directory = path.join(this.#directory, id);
    const place = {
      home: path.join(directory, 'home'),
      temporary: path.join(directory, 'tmp'),
      trash: path.join(directory, 'trash'),
    };
    for (const each of [directory, ...Object.values(place)]) await mkdir(each, { mode: 0o700 });
    return place;
  }

  /** For a sandbox whose sessions have ended. */
  async remove(id: string): Promise<void> {
    const directory = path.join(this.#directory, id);
    await emptyDirectory(directory);
    await rmdir(directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await emptyDirectory(this.#directory, { except: CLAIM });
    using own = HeldDirectory.open(this.#directory);
    this.#claim[Symbol.dispose]();
    own.removeFile(CLAIM);
    await rmdir(this.#directory);
  }
}

/** Removes what servers that were killed have left. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (!entry.isDirectory() || !/^[0-9a-f]{16}$/.test(entry.name)) continue;
    const left = path.join(directory, entry.name);
    using held = tryClaim(path.join(left, CLAIM));
    if (held === undefined) continue;
    await emptyDirectory(left);
    await rmdir(left);
  }
}
