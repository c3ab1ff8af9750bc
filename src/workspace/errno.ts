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
      if (reason === undefined) throw error;
      throw new VivariumError('FILE_REFUSED', `"${path}" was refused: ${reason}.`, { cause: error });
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
