/** A control group that this process and all that it starts live in, so that they can run out of processes. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = '/sys/fs/cgroup';
/** Where the engine moves its processes if a group must not have both members and groups in it. */
const LEAF = 'vivarium-main';

export class ProcessSlots {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Null where processes cannot be limited: not as root, or without the controller. */
  static create(): ProcessSlots | null {
    const parent = findParent();
    if (parent === null) return null;
    const directory = path.join(parent, `chaos-${process.pid}`);
    try {
      mkdirSync(directory);
    } catch {
      return null; // it is not ours to change
    }
    if (existsSync(path.join(directory, 'pids.max'))) return new ProcessSlots(directory);
    rmdirSync(directory);
    return null;
  }

  static at(directory: string): ProcessSlots {
    return new ProcessSlots(directory);
  }

  get directory(): string {
    return this.#directory;
  }

  enter(): void {
    this.#write('cgroup.procs', String(process.pid));
  }

  /** From now on no process or thread can be started. Returns what ends that. */
  exhaust(): () => void {
    this.#write('pids.max', '0');
    return () => this.#write('pids.max', 'max');
  }

  /** To be called from outside, when everything in it has ended. */
  remove(): void {
    const leaf = path.join(this.#directory, LEAF);
    if (existsSync(leaf)) rmdirSync(leaf);
    rmdirSync(this.#directory);
  }

  #write(file: string, text: string): void {
    writeFileSync(path.join(this.#directory, file), text);
  }
}

/** The group of this process that counts processes. */
function findParent(): string | null {
  const rows = readFileSync('/proc/self/cgroup', 'utf8')
    .trim()
    .split('\n')
    .map((row) => row.split(':'));
  const first = rows.find(([, controllers]) => controllers?.split(',').includes('pids'));
  const [, controllers, own] = first ?? rows.find(([id]) => id === '0') ?? [];
  if (own === undefined) return null;
  const directory = path.join(ROOT, controllers ?? '', own);
  return existsSync(directory) ? directory : null;
}
