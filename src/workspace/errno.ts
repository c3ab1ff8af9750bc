import { VivariumError } from '../errors.ts';

/** `ENOENT` and the like; undefined if the error is not from the operating system. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Throws an error of the operating system about a file in our words, and any other error as it is. */
export function explain(error: unknown, path: string): never {
  if (error instanceof VivariumError) throw error;
  const errno = errnoOf(error) ?? '';
  switch (errno) {
    case 'ENOENT':
      throw new VivariumError(
        'FILE_NOT_FOUND',
        `There is no "${path}" in the workspace. List the files to see which there are.`,
        {
          cause: error,
        },
      );
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      throw new VivariumError('FILE_TOO_LARGE', `There is no room for "${path}". Delete files that are not needed.`, {
        cause: error,
      });
    default: {
      const reason = REFUSALS.get(errno);
      if (reason !== undefined) {
        throw new VivariumError('FILE_REFUSED', `"${path}" was refused: ${reason}.`, { cause: error });
      }
      const fault = describeFault(error);
      if (fault === undefined) throw error;
      throw new VivariumError('STORAGE_FAILED', `"${path}" could not be used: ${fault}.`, { cause: error });
    }
  }
}

const NOT_A_DIRECTORY = 'a link or a file stands where a directory should be. Use a path without links';

const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['ELOOP', NOT_A_DIRECTORY],
  ['ENOTDIR', NOT_A_DIRECTORY],
  ['EISDIR', 'it is a directory. Name a file'],
  ['ENOTEMPTY', 'the directory is not empty. Delete the files in it first'],
  ['EEXIST', 'something of this name is there already. Delete it first, or choose another name'],
  ['EACCES', 'its permissions forbid it. Change them in the session'],
  ['EPERM', 'its permissions forbid it. Change them in the session'],
  ['EAGAIN', 'a process in the session holds it. Try again when that has ended'],
  ['EBUSY', 'it is in use. Try again later'],
  ['ENXIO', 'it is not a regular file. Choose one that is'],
  ['ENAMETOOLONG', 'its name is too long. Choose a shorter one'],
]);

/** What this machine lacks or what broke in it, and what to do; undefined for errors of other kinds. */
export function describeFault(error: unknown): string | undefined {
  return FAULTS.get(errnoOf(error) ?? '');
}

const DATA_DIRECTORY = 'Check the data directory';

const FAULTS: ReadonlyMap<string, string> = new Map([
  ['EMFILE', 'this process has too many open files (EMFILE). Close what is not needed, or raise `ulimit -n`'],
  ['ENFILE', 'the machine has too many open files (ENFILE). Close what is not needed, or raise `fs.file-max`'],
  ['ENOSPC', 'no space left on device (ENOSPC). Free space on the disk of the data directory'],
  ['EDQUOT', 'the quota of the disk is used up (EDQUOT). Free space on the disk of the data directory'],
  ['ENOMEM', 'the machine has no memory left (ENOMEM). End what is not needed'],
  ['EIO', 'the disk failed (EIO). Check the disk of the data directory'],
  ['EROFS', 'the file system is read-only (EROFS). Check how the data directory is mounted'],
  ['EACCES', 'permission denied (EACCES). Check the permissions of the data directory'],
  ['EPERM', 'permission denied (EPERM). Check the permissions of the data directory'],
  ['ENOENT', `a directory is gone (ENOENT). ${DATA_DIRECTORY}`],
  ['ENOTDIR', `a file stands where a directory should be (ENOTDIR). ${DATA_DIRECTORY}`],
  ['ESTALE', `the file system is gone (ESTALE). ${DATA_DIRECTORY}`],
  ['ENODEV', `the file system is gone (ENODEV). ${DATA_DIRECTORY}`],
]);
