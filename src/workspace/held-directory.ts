/**
 * Directories and files of a workspace whose owner is hostile and at work. Each is held by its descriptor, each step
 * goes from a held directory to one name in it, and no step follows a link: whatever is swapped meanwhile, nothing
 * outside the workspace is reached.
 */
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  opendirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  type BigIntStats,
  type Dirent,
} from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { OpenFile } from './open-file.ts';

/** Names a file without opening it: no side effects on what turns out to be a FIFO or a device. Not in `constants`. */
const O_PATH = 0o10_000_000;

const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const NAMES_AT_ONCE = 256;

export class HeldDirectory implements Disposable {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** The workspace itself: its path is ours, so only its last step could be a link. */
  static open(path: string): HeldDirectory {
    return new HeldDirectory(openSync(path, DIRECTORY_FLAGS));
  }

  child(name: string): HeldDirectory {
    return new HeldDirectory(openSync(this.#at(name), DIRECTORY_FLAGS));
  }

  stat(): BigIntStats {
    return fstatSync(this.#fd, { bigint: true });
  }

  /** Of the name itself: a link is described, not followed. */
  statOf(name: string): BigIntStats {
    return lstatSync(this.#at(name), { bigint: true });
  }

  /** Names as bytes, since they need not be text; read as they are asked for, since there may be millions. */
  *entries(): Generator<Dirent<Buffer>, void, undefined> {
    const options = { encoding: 'buffer' as BufferEncoding, bufferSize: NAMES_AT_ONCE };
    const directory = opendirSync(`/proc/self/fd/${this.#fd}`, options);
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        yield entry as unknown as Dirent<Buffer>;
      }
    } finally {
      directory.closeSync();
    }
  }

  /** For reading. Anything but a regular file is refused before it is opened; what was looked at is what is opened. */
  async openFile(name: string, owner: number): Promise<OpenFile> {
    const named = openSync(this.#at(name), O_PATH | constants.O_NOFOLLOW);
    try {
      OpenFile.check(fstatSync(named, { bigint: true }), { name, owner });
      // Without O_NONBLOCK a lease that the session took on the file makes this wait for most of a minute.
      const handle = await open(`/proc/self/fd/${named}`, constants.O_RDONLY | constants.O_NONBLOCK);
      return await OpenFile.from(handle, name);
    } finally {
      closeSync(named);
    }
  }

  createFile(name: string): Promise<FileHandle> {
    return open(this.#at(name), CREATE_FLAGS, 0o600);
  }

  makeDirectory(name: string): void {
    mkdirSync(this.#at(name), 0o755);
  }

  give(uid: number): void {
    fchownSync(this.#fd, uid, uid);
  }

  rename(from: string, to: string): void {
    renameSync(this.#at(from), this.#at(to));
  }

  removeFile(name: string): void {
    unlinkSync(this.#at(name));
  }

  removeDirectory(name: string): void {
    rmdirSync(this.#at(name));
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  #at(name: string): string {
    if (name === '' || name === '.' || name === '..' || name.includes('/')) {
      throw new TypeError(`${JSON.stringify(name)} is not one name in a directory`);
    }
    return `/proc/self/fd/${this.#fd}/${name}`;
  }
}
