/** Puts files into a workspace, fetches, lists and deletes them, while the session that owns it may be at work. */
import { VivariumError } from '../errors.ts';
import { HeldDirectory } from './place/directory.ts';
import { errnoOf, explain } from './place/errno.ts';
import { mimeOf } from './mime.ts';
import { makeDraftName, parsePath } from './place/names.ts';
import type { OpenFile } from './place/open-file.ts';
import { describeFile, walk, type FoundFile, type Listing, type WalkOptions } from './place/walk.ts';

/** The files of one session, as the host sees them. */
export interface Workspace {
  readonly path: string;
  /** The user that the session's processes are; files that are put there become its own. */
  readonly uid: number;
}

export type FileSource = string | Uint8Array | AsyncIterable<Uint8Array>;

export interface UploadOptions {
  readonly maxBytes: number;
  /** What sets that limit, to be told when it is reached. */
  readonly limit?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The file is in its place: told before anything else can happen to it, where it is on this host. */
  readonly onPlaced?: ((file: FoundFile) => void) | undefined;
}

export interface FileFacts {
  readonly path: string;
  readonly sizeBytes: number;
  readonly mime: string;
}

export interface FileList extends Omit<Listing, 'files'> {
  readonly files: readonly (FileFacts & { readonly modifiedAt: Date })[];
}

/** Writes a file, in place of one that may be there. It appears whole or not at all; missing directories are made. */
export async function upload(
  workspace: Workspace,
  path: string,
  { source, onPlaced, ...limits }: UploadOptions & { readonly source: FileSource },
): Promise<FileFacts> {
  const { parents, name } = parsePath(path);
  const draft = makeDraftName();
  try {
    using directory = enter(workspace, parents, makeIfMissing);
    try {
      await using file = await directory.createFile(draft);
      let sizeBytes = 0;
      for await (const chunk of bounded(source, { path, ...limits }, (bytes) => (sizeBytes = bytes))) {
        await file.writeFile(chunk);
      }
      await file.chmod(0o644);
      if (isGiven(workspace.uid)) await file.chown(workspace.uid, workspace.uid);
      directory.rename(draft, name);
      onPlaced?.(describeFile(path, directory.statOf(name)));
      return { path, sizeBytes, mime: mimeOf(name) };
    } catch (error) {
      removeDraft(directory, draft);
      throw error;
    }
  } catch (error) {
    return explain(error, path);
  }
}

/** Opens a file for reading; `stream()` gives its bytes with backpressure. The caller closes it. */
export async function openFile(workspace: Workspace, path: string): Promise<OpenFile> {
  const { parents, name } = parsePath(path);
  try {
    using directory = enter(workspace, parents);
    return await directory.openFile(name, workspace.uid);
  } catch (error) {
    return explain(error, path);
  }
}

/** All files, by path; what is not a plain file is named with the reason why it is left out. */
export async function listFiles({ path, uid }: Workspace, options?: Omit<WalkOptions, 'uid'>): Promise<FileList> {
  const { files, skipped, skippedCount, cut } = await walk(path, { ...options, uid });
  return { skipped, skippedCount, cut, files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map(present) };
}

/** Deletes a file, an empty directory, or a link and not what it leads to. */
export function removeFile(workspace: Workspace, path: string): void {
  const { parents, name } = parsePath(path);
  try {
    using directory = enter(workspace, parents);
    if (directory.statOf(name).isDirectory()) directory.removeDirectory(name);
    else directory.removeFile(name);
  } catch (error) {
    explain(error, path);
  }
}

function present({ path, sizeBytes, mtimeNs }: FoundFile): FileFacts & { readonly modifiedAt: Date } {
  return { path, sizeBytes, mime: mimeOf(path), modifiedAt: new Date(Number(mtimeNs / 1_000_000n)) };
}

/** Goes down to a directory, one held step after the other. */
function enter(
  { path, uid }: Workspace,
  steps: readonly string[],
  step: (from: HeldDirectory, name: string, uid: number) => HeldDirectory = (from, name) => from.child(name),
): HeldDirectory {
  let directory = HeldDirectory.open(path);
  for (const name of steps) {
    using left = directory;
    directory = step(left, name, uid);
  }
  return directory;
}

function makeIfMissing(from: HeldDirectory, name: string, uid: number): HeldDirectory {
  try {
    from.makeDirectory(name);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    return from.child(name);
  }
  const made = from.child(name);
  if (isGiven(uid)) made.give(uid);
  return made;
}

/** Only root can, and needs to, make files those of another. */
function isGiven(uid: number): boolean {
  return process.getuid?.() === 0 && uid !== 0;
}

function removeDraft(directory: HeldDirectory, draft: string): void {
  try {
    directory.removeFile(draft);
  } catch {
    // The session may have removed or moved it: it is in the session's own directory.
  }
}

/** The bytes of a source up to a limit; how many there were so far is told with each chunk. */
export async function* bounded(
  source: FileSource,
  { path, maxBytes, limit = 'a file may have', signal }: UploadOptions & { readonly path: string },
  onBytes: (total: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let sizeBytes = 0;
  for await (const chunk of chunksOf(source)) {
    signal?.throwIfAborted();
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) {
      throw new VivariumError('FILE_TOO_LARGE', `"${path}" is larger than the ${maxBytes} bytes that ${limit}.`);
    }
    onBytes(sizeBytes);
    yield chunk;
  }
}

async function* chunksOf(source: FileSource): AsyncGenerator<Uint8Array, void, undefined> {
  if (typeof source === 'string') yield Buffer.from(source);
  else if (source instanceof Uint8Array) yield source;
  else yield* source;
}
