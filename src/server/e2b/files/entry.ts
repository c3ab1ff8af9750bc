import type { BigIntStats } from 'node:fs';
import { posix } from 'node:path';

/** A file or directory of a sandbox, as E2B's SDKs read it: an `EntryInfo` in the JSON form of protobuf. */
export interface FileEntry {
  readonly name: string;
  readonly type: FileEntryType;
  readonly path: string;
  /** Whole numbers of 64 bits are text. */
  readonly size: string;
  readonly mode: number;
  /** As `ls -l` shows it. */
  readonly permissions: string;
  readonly owner: string;
  readonly group: string;
  readonly modifiedTime: string;
  readonly symlinkTarget?: string;
}

export type FileEntryType = 'FILE_TYPE_FILE' | 'FILE_TYPE_DIRECTORY' | 'FILE_TYPE_SYMLINK' | 'FILE_TYPE_UNSPECIFIED';

/** Everything in a sandbox belongs to its one user, whatever user of this machine that is. */
export const USER = 'user';

export function toEntry(path: string, stats: BigIntStats, symlinkTarget?: string): FileEntry {
  const mode = Number(stats.mode & 0o777n);
  return {
    name: posix.basename(path),
    type: typeOf(stats),
    path,
    size: String(stats.size),
    mode,
    permissions: describeMode(stats, mode),
    owner: USER,
    group: USER,
    modifiedTime: new Date(Number(stats.mtimeMs)).toISOString(),
    ...(symlinkTarget !== undefined && { symlinkTarget }),
  };
}

function typeOf(stats: BigIntStats): FileEntryType {
  if (stats.isFile()) return 'FILE_TYPE_FILE';
  if (stats.isDirectory()) return 'FILE_TYPE_DIRECTORY';
  return stats.isSymbolicLink() ? 'FILE_TYPE_SYMLINK' : 'FILE_TYPE_UNSPECIFIED';
}

function describeMode(stats: BigIntStats, mode: number): string {
  const kind = stats.isDirectory() ? 'd' : stats.isSymbolicLink() ? 'L' : '-';
  const bits = Array.from('rwxrwxrwx', (sign, index) => (mode & (0o400 >> index) ? sign : '-'));
  return kind + bits.join('');
}
