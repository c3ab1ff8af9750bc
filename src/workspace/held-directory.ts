/**
 * Directories and files of a workspace while hostile code may be changing it. Each is held by its descriptor, each step
 * goes from a held directory to one name in it, and no step follows a link. So nothing outside the workspace is reached,
 * whatever is swapped in the meantime.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  opendirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  watch,
  type BigIntStats,
  type Dirent,
  type FSWatcher,
} from 'node:fs';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { VivariumError } from '../errors.ts';
import { errnoOf } from './errno.ts';
import { OpenFile } from './open-file.ts';

/** Names a file without opening it, so that a FIFO or a device is not affected. Not in `constants`. */
const O_PATH = 0o10_000_000;

const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** For directories on a way, which need not be readable. */
const WAY_FLAGS = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const CREATE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const NAMES_AT_ONCE = 256;

/** Tells a directory from all others. */
export type DirectoryIdentity = Readonly<Pick<BigIntStats, 'dev' | 'ino'>>;

export class HeldDirectory implements Disposable {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Opens the workspace itself. If its path is not ours alone, `identity` tells whether it leads where it should. */
  static open(path: string, identity?: DirectoryIdentity): HeldDirectory {
    using stack = new DisposableStack();
    const directory = stack.use(new HeldDirectory(openOrRegain(path)));
    const found = identity && directory.stat();
    if (identity?.dev !== found?.dev || identity?.ino !== found?.ino) {
      throw new VivariumError('FILE_REFUSED', `${path} is not the directory that it was when it was configured.`);
    }
    stack.move();
    return directory;
  }

  /**
   * Opens a directory by its full path, on which nothing may be a link: sessions may be able to put some there. With a
   * `mode`, directories that are missing are made.
   */
  static reach(path: string, mode?: number): HeldDirectory {
    let way = new HeldDirectory(openSync('/', WAY_FLAGS));
    for (const name of path.split('/').filter((step) => step !== '')) {
      using left = way;
      if (mode !== undefined) left.#makeIfMissing(name, mode);
      way = new HeldDirectory(openSync(left.#at(name), WAY_FLAGS));
    }
    using found = way;
    return new HeldDirectory(openSync(`/proc/self/fd/${found.#fd}/.`, DIRECTORY_FLAGS));
  }

  child(name: string): HeldDirectory {
    return new HeldDirectory(openSync(this.#at(name), DIRECTORY_FLAGS));
  }

  /** The same for a directory that a session may have locked; see `open`. */
  regainChild(name: string | Buffer): HeldDirectory {
    return new HeldDirectory(openOrRegain(this.#at(name)));
  }

  stat(): BigIntStats {
    return fstatSync(this.#fd, { bigint: true });
  }

  /** Describes the name itself: a link is not followed. */
  statOf(name: string | Buffer): BigIntStats {
    return lstatSync(this.#at(name), { bigint: true });
  }

  /** What a link points to, which may be anything. */
  readLink(name: string): string {
    return readlinkSync(this.#at(name));
  }

  /** Has `onChange` called when something in the directory itself has changed, wherever the directory is moved. */
  watch(onChange: () => void): FSWatcher {
    return watch(`/proc/self/fd/${this.#fd}/.`, { persistent: false }, onChange);
  }

  /** Names are bytes, since they need not be text. They are read on demand, since there may be millions. */
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

  /** Opens a file for reading. What is not a regular file is refused before it is opened, and cannot be swapped after that. */
  async openFile(name: string, owner: number): Promise<OpenFile> {
    const named = openSync(this.#at(name), O_PATH | constants.O_NOFOLLOW);
    try {
      OpenFile.check(fstatSync(named, { bigint: true }), { name, owner });
      // Without O_NONBLOCK, a lease that the session holds on the file would block this for most of a minute.
      const handle = await open(`/proc/self/fd/${named}`, constants.O_RDONLY | constants.O_NONBLOCK);
      return await OpenFile.from(handle, name);
    } finally {
      closeSync(named);
    }
  }

  createFile(name: string, mode = 0o600): Promise<FileHandle> {
    return open(this.#at(name), CREATE_FLAGS, mode);
  }

  makeDirectory(name: string, mode = 0o755): void {
    mkdirSync(this.#at(name), mode);
  }

  /** Asks first: an ordinary user may not try to make something in most directories. */
  #makeIfMissing(name: string, mode: number): void {
    try {
      this.statOf(name);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      try {
        this.makeDirectory(name, mode);
      } catch (failure) {
        if (errnoOf(failure) !== 'EEXIST') throw failure;
      }
    }
  }

  give(uid: number): void {
    fchownSync(this.#fd, uid, uid);
  }

  rename(from: string, to: string): void {
    renameSync(this.#at(from), this.#at(to));
  }

  /** The same, but fails with EEXIST if there is anything of that name. */
  renameNew(from: string, to: string): void {
    closeSync(openSync(this.#at(to), CREATE_FLAGS, 0o600)); // ours from here on
    renameSync(this.#at(from), this.#at(to));
  }

  /** Moves what has this name into another directory of the same file system. */
  moveTo(name: string | Buffer, to: HeldDirectory, newName: string): void {
    renameSync(this.#at(name), to.#at(newName));
  }

  removeFile(name: string | Buffer): void {
    unlinkSync(this.#at(name));
  }

  /** Removes a file of any size: that of a large one takes a while. */
  unlink(name: string): Promise<void> {
    return unlink(this.#at(name));
  }

  removeDirectory(name: string | Buffer): void {
    rmdirSync(this.#at(name));
  }

  /** Removes a name with everything below it, if it is there. It is for trees that no session has made the depth of. */
  removeAll(name: string): void {
    rmSync(this.#at(name), { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  #at(name: string | Buffer): string | Buffer {
    const text = name.toString();
    if (text === '' || text === '.' || text === '..' || text.includes('/')) {
      throw new TypeError(`${JSON.stringify(text)} is not one name in a directory`);
    }
    const own = `/proc/self/fd/${this.#fd}/`;
    return typeof name === 'string' ? own + name : Buffer.concat([Buffer.from(own), name]);
  }
}

function openOrRegain(path: string | Buffer): number {
  try {
    return openSync(path, DIRECTORY_FLAGS);
  } catch (error) {
    if (errnoOf(error) !== 'EACCES' || !regain(path)) throw error;
    return openSync(path, DIRECTORY_FLAGS);
  }
}

/** A session may take all permissions off its workspace. Its owner, if that is us, gives itself access again. */
function regain(path: string | Buffer): boolean {
  const named = openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const { uid, mode } = fstatSync(named);
    if (uid !== process.geteuid?.()) return false;
    chmodSync(`/proc/self/fd/${named}`, (mode & 0o777) | 0o700);
    return true;
  } finally {
    closeSync(named);
  }
}
