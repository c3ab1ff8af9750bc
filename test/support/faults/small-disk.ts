import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const FILLER = '.filler';
const MEBIBYTE = 2 ** 20;
const BLOCK_BYTES = 4096;

/** Why a small disk cannot be mounted here, for a loud skip; null if it can. */
export const noSmallDisk = process.getuid?.() === 0 ? null : 'only root can mount a small disk';

/** A file system of a few megabytes, to be filled at will. */
export class SmallDisk implements Disposable {
  readonly path: string;

  /** It is mounted at `directory`, which is created if it is missing, or at a directory of its own. */
  constructor(sizeMb: number, directory = mkdtempSync(path.join(tmpdir(), 'small-disk-'))) {
    this.path = directory;
    mkdirSync(directory, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=700`, 'vivarium-small-disk', this.path]);
  }

  /** Takes all room but `leftBytes`. */
  fill(leftBytes = 0): void {
    const filler = openSync(path.join(this.path, FILLER), 'a');
    try {
      for (let size = MEBIBYTE; size >= BLOCK_BYTES;) if (!append(filler, size)) size /= 2;
    } finally {
      closeSync(filler);
    }
    if (leftBytes === 0) return;
    const file = path.join(this.path, FILLER);
    truncateSync(file, Math.max(0, statSync(file).size - leftBytes));
  }

  /** Gives the room back. */
  free(): void {
    rmSync(path.join(this.path, FILLER), { force: true });
  }

  /** Lets nothing be written, or everything again. Nothing may be open for writing when it becomes read-only. */
  setReadOnly(isReadOnly: boolean): void {
    execFileSync('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, this.path]);
  }

  /** Detaches it even if a file in it is still open. */
  [Symbol.dispose](): void {
    execFileSync('umount', ['--lazy', this.path]);
    rmdirSync(this.path);
  }
}

function append(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false;
    throw error;
  }
}
