import type { Limits } from '../../../config.ts';
import { VivariumError } from '../../../errors.ts';
import { walk } from '../../../workspace/walk.ts';
import type { SandboxPlace } from './place.ts';

const MAX_FILES = 200_000;
const LOOK_MS = 3000;
const BUSY_MS = 500;
const QUIET_MS = 5000;
/** Looking takes at most this part of the time. */
const SHARE = 20;

interface QuotaOptions {
  readonly place: SandboxPlace;
  readonly limits: Pick<Limits, 'workspaceMb'>;
  /** Whether a cell or a command runs. */
  readonly isBusy: () => boolean;
  /** Ends everything that could write. */
  readonly onExcess: () => Promise<void>;
}

/** What the files of a sandbox take on disk. */
export interface DiskUse {
  readonly usedBytes: number;
  readonly maxBytes: number;
}

/**
 * Holds a sandbox to `workspaceMb`. Its files are in mounts, which the limits of its sessions do not count. Between two
 * looks a program can write as much as the disk takes, as it can in any session.
 */
export class Quota implements Disposable {
  readonly #options: QuotaOptions;
  readonly #maxBytes: number;
  #timer: NodeJS.Timeout | undefined;
  #nextAt = 0;
  #excess: string | null = null;
  #isStopped = false;
  #isOver = false;

  constructor(options: QuotaOptions) {
    this.#options = options;
    this.#maxBytes = options.limits.workspaceMb * 2 ** 20;
    this.#plan(BUSY_MS);
  }

  /** Throws while the sandbox has more files than it may. */
  async assertRoom(): Promise<void> {
    if (this.#excess !== null) await this.measure(); // some may have been removed
    if (this.#excess !== null) throw new VivariumError('FILE_TOO_LARGE', this.#excess);
  }

  /** Something begins that may write: look soon. */
  hasten(): void {
    if (performance.now() + BUSY_MS < this.#nextAt) this.#plan(BUSY_MS);
  }

  async measure(): Promise<DiskUse> {
    const caps = { maxEntries: MAX_FILES, maxMs: LOOK_MS };
    const { home, temporary } = this.#options.place;
    const [own, passing] = [await walk(home, { caps }), await walk(temporary, { caps })];
    const usedBytes = (own.allocatedBytes ?? 0) + (passing.allocatedBytes ?? 0);
    const isCrowded = own.cut === 'entries' || passing.cut === 'entries';
    this.#excess = isCrowded ? describeCrowd() : usedBytes > this.#maxBytes ? describeSize(this.#maxBytes) : null;
    return { usedBytes, maxBytes: this.#maxBytes };
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #plan(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#nextAt = performance.now() + delayMs;
    if (!this.#isOver) this.#timer = setTimeout(() => void this.#look(), delayMs).unref();
  }

  async #stop(): Promise<void> {
    await this.#options.onExcess();
    this.#isStopped = true;
  }

  async #look(): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.measure();
      if (this.#excess === null) this.#isStopped = false;
      else if (!this.#isStopped && !this.#isOver) await this.#stop();
    } catch {
      // The sandbox is being closed, or the machine is short of something: the next look tells.
    }
    const pauseMs = this.#options.isBusy() ? BUSY_MS : QUIET_MS;
    this.#plan(Math.max(pauseMs, SHARE * (performance.now() - startedAt)));
  }
}

function describeSize(maxBytes: number): string {
  return `The files of the sandbox take more than the ${maxBytes / 2 ** 20} MB that they may (limits.workspaceMb). Everything in it was stopped; remove files to go on.`;
}

function describeCrowd(): string {
  return `The sandbox has more than ${MAX_FILES} files. Everything in it was stopped; remove files to go on.`;
}
