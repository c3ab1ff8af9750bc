import { randomBytes } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { HeldDirectory } from '../../workspace/held-directory.ts';
import { errnoOf } from '../../workspace/errno.ts';
import { closing } from '../../workspace/file-source.ts';
import { MAX_PATH_BYTES, parsePath } from '../../workspace/names.ts';
import { ServiceConfigurationError } from '../api/failures.ts';
import { folderName, FOLDERS, isRecordPath, monthOf, type RecordSubfolder } from './names.ts';

/** Requests and their data are private to the user who runs the service. */
const MODE = 0o700;
const TRIES = 5;

type FileContent = string | Uint8Array | AsyncIterable<Uint8Array>;

/** The folder of one request. Access to it never follows a link, and no file in it is ever half written. */
export class RecordFolder {
  readonly path: string;
  /** The directory of all records. */
  readonly root: string;
  /** Relative to the directory of all records. */
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
      using directory = HeldDirectory.reach(path.join(realRoot, month), MODE); // fails if it is a link
      const fresh = makeFresh(directory, () => folderName(time, name, randomBytes(4).toString('hex')));
      using folder = directory.child(fresh);
      folder.makeDirectory(FOLDERS.attempts, MODE);
      return new RecordFolder(realRoot, path.join(month, fresh));
    });
  }

  /** Opens a folder that `create` made, in this process or another. Any other folder is refused, also through links. */
  static async open(root: string, folder: string): Promise<RecordFolder> {
    return explained(folder, async () => {
      const realRoot = await realpath(root).catch((error: unknown) => {
        throw errnoOf(error) === 'ENOENT' ? notARecord(folder, root) : error; // there is no record yet
      });
      const relative = path.relative(realRoot, await realpath(path.resolve(realRoot, folder)));
      if (!isRecordPath(relative)) throw notARecord(folder, root);
      using directory = HeldDirectory.reach(path.join(realRoot, relative));
      makeIfMissing(directory, FOLDERS.attempts);
      return new RecordFolder(realRoot, relative);
    });
  }

  /** Writes a file. Readers see either the old content or the new one. */
  async write(name: string, content: FileContent, subfolder?: RecordSubfolder): Promise<string> {
    using _ = closing(content);
    const target = path.join(this.path, subfolder ?? '', name);
    return await explained(target, async () => {
      using directory = this.#hold(subfolder, makeIfMissing);
      await put(directory, name, content);
      return target;
    });
  }

  /** Same as `write`, for a path inside a sub-folder. Creates missing directories. */
  async writeBelow(subfolder: RecordSubfolder, inner: string, content: FileContent): Promise<string> {
    using _ = closing(content);
    const { parents, name } = parsePath(inner);
    const target = path.join(this.path, subfolder, ...parents, name);
    return await explained(target, async () => {
      using stack = new DisposableStack();
      const directory = [subfolder, ...parents].reduce((from, step) => {
        makeIfMissing(from, step);
        return stack.use(from.child(step));
      }, stack.use(this.#hold()));
      await put(directory, name, content);
      return target;
    });
  }

  /** Whether people could open a file of this path in a sub-folder. */
  hasRoomFor(subfolder: RecordSubfolder, inner: string): boolean {
    return Buffer.byteLength(path.join(this.path, subfolder, inner)) < MAX_PATH_BYTES;
  }

  writeJson(name: string, content: unknown): Promise<string> {
    return this.write(name, `${JSON.stringify(content, undefined, 2)}\n`);
  }

  /** The text of a file, or null if there is no such file. */
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

  /** The content of a file. */
  async open(name: string, subfolder: RecordSubfolder): Promise<Readable> {
    return explained(path.join(this.path, subfolder, name), async () => {
      using directory = this.#hold(subfolder);
      return (await directory.openFile(name, process.getuid?.() ?? 0)).stream();
    });
  }

  /** The names in a sub-folder, which need not exist yet. */
  list(subfolder: RecordSubfolder): string[] {
    try {
      using directory = this.#hold(subfolder);
      return Array.from(directory.entries(), (entry) => entry.name.toString()).toSorted();
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw failure(path.join(this.path, subfolder), error);
    }
  }

  /** Removes a file if it exists. */
  remove(name: string, subfolder?: RecordSubfolder): void {
    using directory = this.#hold(subfolder);
    remove(directory, name);
  }

  /** Removes a sub-folder and everything in it. If it is a link, only the link is removed. */
  removeAll(subfolder: RecordSubfolder): void {
    try {
      using folder = this.#hold();
      folder.removeAll(subfolder);
    } catch (error) {
      throw failure(path.join(this.path, subfolder), error);
    }
  }

  /** No part of the way may be a link by now: sessions may be able to write where the records are. */
  #hold(subfolder?: RecordSubfolder, prepare?: (folder: HeldDirectory, name: string) => void): HeldDirectory {
    using stack = new DisposableStack();
    const folder = stack.use(HeldDirectory.reach(this.path));
    if (subfolder === undefined) {
      stack.move(); // the caller owns it
      return folder;
    }
    prepare?.(folder, subfolder);
    return folder.child(subfolder);
  }
}

async function put(directory: HeldDirectory, name: string, content: FileContent): Promise<void> {
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

function makeFresh(month: HeldDirectory, nextName: () => string): string {
  for (let tries = 1; ; tries += 1) {
    const name = nextName();
    try {
      month.makeDirectory(name, MODE);
      return name;
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST' || tries === TRIES) throw error;
    }
  }
}

function makeIfMissing(directory: HeldDirectory, name: string): void {
  try {
    directory.makeDirectory(name, MODE);
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
    `The record of the execution cannot be kept at ${target}: ${REASONS.get(errno) ?? errno}. Fix this, or set file_paths.agent_data_dir to another directory.`,
    { cause: error, technicalDetails: { errno, path: target } },
  );
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'the service may not write there'],
  ['EPERM', 'the service may not write there'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the disk quota is exceeded'],
  ['ENOENT', 'there is no such directory'],
  ['EEXIST', 'it should be a directory but is a file'],
  ['EISDIR', 'it should be a file but is a directory'],
  ['ELOOP', 'it should be a directory but is a link'],
  ['ENOTDIR', 'it should be a directory but is a link or a file'],
]);

function notARecord(folder: string, root: string): ServiceConfigurationError {
  return new ServiceConfigurationError(
    `${folder} is not the folder of an earlier request: those are in ${root}, and the service names them. Pass the folder_path of an earlier result as existing_execution_folder, or omit it.`,
  );
}
