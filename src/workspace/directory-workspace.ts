import { posix } from 'node:path';
import { errnoOf, explain } from './errno.ts';
import { boundedChunks, closing } from './file-source.ts';
import { HeldDirectory, type DirectoryIdentity } from './held-directory.ts';
import { makeDraftName, parsePath } from './names.ts';
import { lookAt } from './look.ts';
import type { OpenFile } from './open-file.ts';
import { describeFile, walk } from './walk.ts';
import type { FileSource, Listing, ListOptions, SeenFile, Touched, Workspace, WriteOptions } from './workspace.ts';

export interface DirectoryWorkspaceOptions {
  readonly path: string;
  /** The user that the session's processes run as; files that are written here become that user's. */
  readonly uid: number;
  readonly startedEmpty?: boolean;
  /** What the path must lead to, where sessions could change directories on the way. */
  readonly identity?: DirectoryIdentity;
  /** Whether a link on the way is refused and a missing directory is made; see `HeldDirectory.reach`. */
  readonly isReached?: boolean;
  /** The path under which the session's code sees the directory, if it differs. */
  readonly sessionPath?: string;
  /** Asks somebody who follows the directory what was touched since the last call; null if that is not known. */
  readonly askTouched?: () => Promise<Touched | null>;
  /** Called as soon as something was written or removed here. */
  readonly onChange?: () => void;
}

/** A workspace in a directory of this machine. The session that owns it may be changing it at any time. */
export class DirectoryWorkspace implements Workspace {
  readonly path: string;
  readonly uid: number;
  readonly startedEmpty: boolean;
  readonly #identity: DirectoryIdentity | undefined;
  readonly #isReached: boolean;
  readonly #sessionPath: string;
  readonly #askTouched: (() => Promise<Touched | null>) | undefined;
  readonly #onChange: (() => void) | undefined;

  constructor(options: DirectoryWorkspaceOptions) {
    const { path, uid, startedEmpty = false, sessionPath = path, askTouched, onChange } = options;
    this.#identity = options.identity;
    this.#isReached = options.isReached ?? false;
    this.path = path;
    this.uid = uid;
    this.startedEmpty = startedEmpty;
    this.#sessionPath = sessionPath;
    this.#askTouched = askTouched;
    this.#onChange = onChange;
  }

  get location(): string {
    return this.path;
  }

  pathInSession(path: string): string {
    return posix.join(this.#sessionPath, path);
  }

  /** The file appears as a whole or not at all. */
  async write(
    path: string,
    source: FileSource,
    { onWritten, mustBeNew = false, ...limits }: WriteOptions = {},
  ): Promise<number> {
    using _ = closing(source);
    const { parents, name } = parsePath(path);
    const draft = makeDraftName();
    try {
      using directory = this.#enter(parents, makeIfMissing);
      try {
        await using file = await directory.createFile(draft);
        let sizeBytes = 0;
        for await (const chunk of boundedChunks(source, { path, ...limits }, (bytes) => (sizeBytes = bytes))) {
          await file.writeFile(chunk);
        }
        await file.chmod(0o644);
        if (mustChangeOwner(this.uid)) await file.chown(this.uid, this.uid);
        if (mustBeNew) directory.renameNew(draft, name);
        else directory.rename(draft, name);
        this.#onChange?.();
        onWritten?.(describeFile(path, directory.statOf(name)));
        return sizeBytes;
      } catch (error) {
        removeDraft(directory, draft);
        throw error;
      }
    } catch (error) {
      return explain(error, path);
    }
  }

  async open(path: string): Promise<OpenFile> {
    const { parents, name } = parsePath(path);
    try {
      using directory = this.#enter(parents);
      return await directory.openFile(name, this.uid);
    } catch (error) {
      return explain(error, path);
    }
  }

  list(options?: ListOptions): Promise<Listing> {
    return walk(this.path, { ...options, uid: this.uid });
  }

  touched(): Promise<Touched | null> {
    return this.#askTouched?.() ?? Promise.resolve(null);
  }

  look(paths: Iterable<string>, visit: (path: string, file: SeenFile | null) => void): Promise<void> {
    return lookAt(this.path, paths, { uid: this.uid, visit });
  }

  async remove(path: string): Promise<void> {
    const { parents, name } = parsePath(path);
    try {
      using directory = this.#enter(parents);
      if (directory.statOf(name).isDirectory()) directory.removeDirectory(name);
      else directory.removeFile(name);
      this.#onChange?.();
    } catch (error) {
      explain(error, path);
    }
  }

  /** Goes down to a directory, one held step after the other. */
  #enter(
    steps: readonly string[],
    step: (from: HeldDirectory, name: string, uid: number) => HeldDirectory = (from, name) => from.child(name),
  ): HeldDirectory {
    let directory = this.#isReached
      ? HeldDirectory.reach(this.path, 0o700)
      : HeldDirectory.open(this.path, this.#identity);
    for (const name of steps) {
      using left = directory;
      directory = step(left, name, this.uid);
    }
    return directory;
  }
}

function makeIfMissing(from: HeldDirectory, name: string, uid: number): HeldDirectory {
  try {
    from.makeDirectory(name);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    return from.child(name);
  }
  using stack = new DisposableStack();
  const made = stack.use(from.child(name));
  if (mustChangeOwner(uid)) made.give(uid);
  stack.move(); // the caller owns it now
  return made;
}

/** Only root can give files to another user, and only root needs to. */
function mustChangeOwner(uid: number): boolean {
  return process.getuid?.() === 0 && uid !== 0;
}

function removeDraft(directory: HeldDirectory, draft: string): void {
  try {
    directory.removeFile(draft);
  } catch {
    // The session may have removed or moved it: it is in the session's own directory.
  }
}
