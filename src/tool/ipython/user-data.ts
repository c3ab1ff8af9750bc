/** The directory with the user's files, as a session gets it. */
import { constants, createReadStream } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Artifacts } from '../../artifact/artifact.ts';
import { VivariumError } from '../../errors.ts';
import type { Execution } from '../../execution/execution.ts';
import type { Session } from '../../host/session.ts';
import { changeDirectory, pythonString } from '../../text/code/python-code.ts';
import { isHiddenPath } from '../../workspace/names.ts';
import { resolveDirectory } from '../access.ts';
import { RunFolder } from '../code-interpreter/artifact-folder.ts';

/**
 * `shared`: code works in the directory itself. `read-only`: it reads there. `copied`: code works on a copy, and what it
 * writes is copied back, because sessions are other users when this program runs as root, and may not write there.
 */
export type UserDataAccess = 'shared' | 'read-only' | 'copied';

export interface UserData {
  readonly directory: string;
  readonly access: UserDataAccess;
}

/** More than this is not copied for a session. */
const MAX_COPIED_BYTES = 200_000_000;
const MAX_COPIED_FILES = 2000;

/** A directory that this program cannot write is the user's to read. */
export async function findUserData(named: string, isWritable: boolean): Promise<UserData> {
  const directory = await resolveDirectory('user_data_dir', named);
  const isShared = isWritable && (await access(directory, constants.W_OK).then(...YES_OR_NO));
  return { directory, access: isShared ? 'shared' : 'read-only' };
}

const YES_OR_NO = [() => true, () => false] as const;

/** Python that enters the directory, and fails at once if it should be writable and is not. */
export function enterUserData({ directory, access: given }: UserData): string {
  if (given === 'copied') return '';
  const enter = changeDirectory(directory);
  if (given === 'read-only') return enter;
  return `${enter}\nif not __import__("os").access(".", 2): raise PermissionError(${pythonString(directory)})`;
}

/** Copies the user's files into the workspace of a new session. */
export async function copyIn({ directory }: UserData, session: Session): Promise<void> {
  const files = await filesIn(directory);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (files.length > MAX_COPIED_FILES || bytes > MAX_COPIED_BYTES) throw tooLarge(directory, files.length, bytes);
  for (const { name } of files) await session.files.upload(name, createReadStream(path.join(directory, name)));
}

/** Copies what a run wrote beside the user's files. Returns a line for each file that could not be copied. */
export async function copyBack(
  { directory }: UserData,
  { files }: Execution,
  artifacts: Pick<Artifacts, 'open'>,
): Promise<string[]> {
  const folder = new RunFolder(directory, { isReplacing: true });
  const lost: string[] = [];
  for (const { path: name, id, sizeBytes, notKept } of files) {
    try {
      if (id === undefined) lost.push(`${name} was not copied to ${directory}: ${notKept ?? 'no copy was made'}`);
      else await folder.add(name, await artifacts.open(id), sizeBytes);
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error;
      lost.push(`${name} was not copied to ${directory}: ${error.message}`);
    }
  }
  return lost;
}

async function filesIn(directory: string): Promise<{ readonly name: string; readonly size: number }[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)))
    .filter((name) => !isHiddenPath(name));
  return Promise.all(names.map(async (name) => ({ name, size: (await stat(path.join(directory, name))).size })));
}

function tooLarge(directory: string, files: number, bytes: number): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `Sessions cannot write to the user_data_dir ${directory}, and its ${files} files with ${bytes} bytes are too many to work on a copy. ` +
      'Give the directory to another user (chown), make it writable for others (chmod o+rwx), or pass userDataWritable: false.',
  );
}
