/** Faults of the machine: a full disk, no free descriptors or processes, a locked database. Each ends by itself. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Chance } from '../../e2e/engine/chance.ts';
import type { ProcessSlots } from './process-slots.ts';
import type { Weather } from './weather.ts';

const run = promisify(execFile);
const LONGEST_MS = 1200;
const DISK_MB = 256;
/** Leaves less than any file of a run needs. */
const FREE_BYTES = 16 << 10;
const SPARE_DESCRIPTORS = 2;

/** Holds the write lock of an SQLite file until its stdin ends. */
const LOCKER = `
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=5, isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
`;

interface MachineFaultsParts {
  readonly chance: Chance;
  readonly weather: Weather;
  readonly dataDir: string;
  /** A Python that can lock a database. */
  readonly python: string;
  /** Whether the data directory is a file system of its own, which may be filled. */
  readonly hasOwnDisk: boolean;
  readonly slots: ProcessSlots | null;
}

type Begin = () => Promise<() => unknown>;

export class MachineFaults {
  readonly #parts: MachineFaultsParts;

  constructor(parts: MachineFaultsParts) {
    this.#parts = parts;
  }

  /** One fault, and its end. */
  async strike(): Promise<void> {
    const { chance, hasOwnDisk, slots } = this.#parts;
    const kinds: [string, Begin][] = [
      ['a locked database', () => this.#lockDatabase()],
      ['no descriptors', () => Promise.resolve(takeDescriptors())],
    ];
    if (hasOwnDisk) kinds.push(['a full disk', () => this.#fillDisk()]);
    if (slots !== null) kinds.push(['no process slots', () => Promise.resolve(slots.exhaust())]);
    await this.#during(...chance.pick(kinds), chance.below(LONGEST_MS));
  }

  async #during(kind: string, begin: Begin, lastsMs: number): Promise<void> {
    const { weather } = this.#parts;
    const fault = { kind, sessionId: null };
    weather.begin(fault);
    const end = await begin();
    await sleep(lastsMs);
    await end();
    weather.clear(fault);
  }

  async #lockDatabase(): Promise<() => unknown> {
    const { dataDir, python } = this.#parts;
    const file = path.join(dataDir, 'artifacts', 'artifacts.sqlite');
    const locker = spawn(python, ['-c', LOCKER, file], { stdio: ['pipe', 'pipe', 'ignore'] });
    const exited = once(locker, 'exit');
    await Promise.race([once(locker.stdout, 'data'), exited]);
    return async () => {
      locker.stdin.end();
      await exited;
    };
  }

  async #fillDisk(): Promise<() => unknown> {
    const { dataDir } = this.#parts;
    const balloon = path.join(dataDir, 'balloon');
    const { bavail, bsize } = await statfs(dataDir);
    try {
      await writeFile(balloon, Buffer.alloc(Math.max(0, bavail * bsize - FREE_BYTES)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error; // full all the same
    }
    return () => rm(balloon, { force: true });
  }
}

/** Gives a directory a small file system of its own. It vanishes with the mount namespace of this process. */
export async function mountSmallDisk(directory: string): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m,mode=755`, 'vivarium-chaos', directory]);
}

/** Opens files until there are no descriptors left but a few. Returns what closes them. */
function takeDescriptors(): () => void {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
  }
  for (const fd of taken.splice(-SPARE_DESCRIPTORS)) closeSync(fd);
  return () => taken.forEach((fd) => closeSync(fd));
}
