import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { HeldDirectory } from '../../workspace/held-directory.ts';
import { errnoOf } from '../../workspace/errno.ts';
import { parsePath } from '../../workspace/names.ts';
import { ServiceConfigurationError } from '../failures.ts';
import { ATTEMPTS, type FIGURES, folderName, type INPUTS, isRecordPath, monthOf, type PRODUCTS } from './names.ts';

/** Only for who runs the service: requests and their data are nobody else's business. */
const MODE = 0o700;
const TRIES = 5;

type Part = typeof ATTEMPTS | typeof FIGURES | typeof INPUTS | typeof PRODUCTS;
type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

/** The folder of one request. No step into it follows a link, and no file in it is ever half written. */
export class RecordFolder {
  readonly path: string;
  /** The directory of all records. */
  readonly root: string;
  /** As seen from the directory of all records. */
  readonly relative: string;

  private constructor(root: string, relative: string) {
    this.root = root;
    this.relative = relative;
    this.path = path.join(root, relative);
  }

  static async create(root: string, name: string, time: Date): Promise<RecordFolder> {
    return explained(root, async () => {
      const month = monthOf(time);
      await mkdir(root, { recursive: true, mode: MODE });
      const realRoot = await realpath(root);
      await makeDirectory(path.join(realRoot, month));
      HeldDirectory.open(path.join(realRoot, month))[Symbol.dispose](); // a link in its place is refused here
      const relative = await makeFresh(realRoot, month, () => folderName(time, name, randomBytes(4).toString('hex')));
      await mkdir(path.join(realRoot, relative, ATTEMPTS), { mode: MODE });
      return new RecordFolder(realRoot, relative);
    });
  }

  /** A folder that `create` made, in this process or another. Anything else is refused, wherever its links lead. */
  static async open(root: string, folder: string): Promise<RecordFolder> {
    return explained(folder, async () => {
      const realRoot = await realpath(root).catch((error: unknown) => {
        throw errnoOf(error) === 'ENOENT' ? notARecord(folder, root) : error; // nothing was recorded yet
      });
      const relative = path.relative(realRoot, await realpath(path.resolve(realRoot, folder)));
      if (!isRecordPath(relative)) throw notARecord(folder, root);
      HeldDirectory.open(path.join(realRoot, relative))[Symbol.dispose]();
      await makeDirectory(path.join(realRoot, relative, ATTEMPTS));
      return new RecordFolder(realRoot, relative);
    });
  }

  /** Readers see the old content or the new one. */
  async write(name: string, content: Content, part?: Part): Promise<string> {
    const target = path.join(this.path, part ?? '', name);
    return explained(target, async () => {
      if (part !== undefined) await makeDirectory(path.join(this.path, part));
      using directory = this.#hold(part);
      await put(directory, name, content);
      return target;
    });
  }

  /** The same for a path below a part of it; directories on the way are made. */
  async writeBelow(part: Part, inner: string, content: Content): Promise<string> {
    const { parents, name } = parsePath(inner);
    const target = path.join(this.path, part, ...parents, name);
    return explained(target, async () => {
      await mkdir(path.dirname(target), { recursive: true, mode: MODE });
      using stack = new DisposableStack();
      const steps = [part, ...parents].reduce((from, step) => stack.use(from.child(step)), stack.use(this.#hold()));
      await put(steps, name, content);
      return target;
    });
  }

  writeJson(name: string, content: unknown): Promise<string> {
    return this.write(name, `${JSON.stringify(content, undefined, 2)}\n`);
  }

  /** The text of a file in it; null when there is none. */
  async read(name: string): Promise<string | null> {
    return explained(path.join(this.path, name), async () => {
      using directory = this.#hold();
      try {
        await using file = await directory.openFile(name, process.getuid?.() ?? 0);
        return await text(file.chunks());
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return null;
        throw error;
      }
    });
  }

  /** The content of a file in it. */
  async open(name: string, part: Part): Promise<Readable> {
    return explained(path.join(this.path, part, name), async () => {
      using directory = this.#hold(part);
      return (await directory.openFile(name, process.getuid?.() ?? 0)).stream();
    });
  }

  /** The names in a part of it; none when there is no such part yet. */
  list(part: Part): string[] {
    try {
      using directory = this.#hold(part);
      return Array.from(directory.entries(), (entry) => entry.name.toString()).toSorted();
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw failure(path.join(this.path, part), error);
    }
  }

  /** Nothing happens if there is no such file. */
  remove(name: string, part?: Part): void {
    using directory = this.#hold(part);
    remove(directory, name);
  }

  /** Removes a part of it with all that is in there; a link in its place goes, not what it leads to. */
  removeAll(part: Part): void {
    rmSync(path.join(this.path, part), { recursive: true, force: true });
  }

  #hold(part?: Part): HeldDirectory {
    const folder = HeldDirectory.open(this.path);
    if (part === undefined) return folder;
    try {
      return folder.child(part);
    } finally {
      folder[Symbol.dispose]();
    }
  }
}

async function put(directory: HeldDirectory, name: string, content: Content): Promise<void> {
  const draft = `.draft-${randomBytes(8).toString('hex')}`;
  try {
    await using file = await directory.createFile(draft);
    await file.writeFile(content);
    directory.rename(draft, name);
  } catch (error) {
    remove(directory, draft);
    throw error;
  }
}

async function makeFresh(root: string, month: string, nextName: () => string): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const relative = path.join(month, nextName());
    try {
      await mkdir(path.join(root, relative), { mode: MODE });
      return relative;
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST' || tries === TRIES) throw error;
    }
  }
}

async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: MODE });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

function remove(directory: HeldDirectory, name: string): void {
  try {
    directory.removeFile(name);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

async function explained<T>(target: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw failure(target, error);
  }
}

function failure(target: string, error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || error instanceof ServiceConfigurationError) return error;
  return new ServiceConfigurationError(
    `The record of the execution cannot be kept at ${target}: ${REASONS.get(errno) ?? errno}. Correct that, or set file_paths.agent_data_dir to another directory.`,
    { cause: error, technicalDetails: { errno, path: target } },
  );
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'the service may not write there'],
  ['EPERM', 'the service may not write there'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the quota is used up'],
  ['ENOENT', 'there is no such directory'],
  ['EISDIR', 'a directory stands where a file should be'],
  ['ELOOP', 'a link stands where a directory should be'],
  ['ENOTDIR', 'a link or a file stands where a directory should be'],
]);

function notARecord(folder: string, root: string): ServiceConfigurationError {
  return new ServiceConfigurationError(
    `${folder} is not the folder of an earlier request: those lie in ${root} and are named by the service. Give the folder_path of an earlier result as existing_execution_folder, or leave it out.`,
  );
}
