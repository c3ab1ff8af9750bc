import { existsSync } from 'node:fs';
import type { Mount } from '../../../config.ts';
import { VivariumError } from '../../../errors.ts';
import { MountPoints, type Location } from './places.ts';
import { HeldSource } from './source.ts';

/** A mount whose source has been found. Device and inode are compared each time it is opened again. */
export interface HeldMount extends Mount {
  readonly device: string;
  readonly inode: string;
  /** The user that the source belongs to. */
  readonly owner: number;
}

/** The mounts of one session, or of all that have none of their own. Their sources are held until it is disposed of. */
export class HeldMounts implements Disposable {
  static readonly none = new HeldMounts([], []);
  readonly mounts: readonly HeldMount[];
  readonly #sources: readonly HeldSource[];

  constructor(mounts: readonly Mount[], sources: readonly HeldSource[]) {
    this.#sources = sources;
    this.mounts = sources.map(({ path, stats }, index) => ({
      source: path,
      target: mounts[index]?.target ?? '',
      writable: mounts[index]?.writable ?? false,
      device: String(stats.dev),
      inode: String(stats.ino),
      owner: Number(stats.uid),
    }));
  }

  [Symbol.dispose](): void {
    for (const source of this.#sources) source[Symbol.dispose]();
  }
}

/** All mounts of an engine. Knows which directories sessions could write, now or earlier. */
export class MountTable {
  readonly #own: readonly [string, ...string[]];
  readonly #shared = new Set<string>();

  /** `own` are the directories of the host itself, if they exist. The first one does, and holds files of sessions. */
  constructor(own: readonly [string, ...string[]]) {
    this.#own = own;
  }

  /** Finds the sources of mounts, and refuses those that a session could replace. */
  hold(mounts: readonly Mount[]): HeldMounts {
    if (mounts.length === 0) return HeldMounts.none;
    using stack = new DisposableStack();
    using sessions = HeldSource.open(this.#own[0]);
    this.#shared.add(sessions.identity);
    const sources = mounts.map(({ source }) => stack.use(HeldSource.open(source, (one) => this.#shared.has(one))));
    const isWritable = (_: unknown, index: number): boolean => mounts[index]?.writable === true;
    const writable = sources.filter(isWritable);
    if (writable.length > 0) this.#refuseOverlaps(sources, writable);
    for (const { identity } of writable) this.#shared.add(identity);
    stack.move(); // `HeldMounts` owns them now
    return new HeldMounts(mounts, sources);
  }

  #refuseOverlaps(sources: readonly HeldSource[], writable: readonly HeldSource[]): void {
    const points = new MountPoints();
    for (const outer of writable) {
      const inner = sources.find((source) => source !== outer && points.isWithin(source, outer));
      if (inner !== undefined) throw nested(inner, outer);
      for (const directory of this.#own.filter((each) => existsSync(each))) {
        using own = HeldSource.open(directory);
        if (points.isWithin(own, outer) || points.isWithin(outer, own)) throw ours(outer, own);
      }
    }
  }
}

function nested(inner: Location, outer: Location): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `The mount ${inner.path} is the same as the writable mount ${outer.path}, or lies in it: the session could put something else in its place. Mount only one of them, or make the outer one read-only.`,
  );
}

function ours(mount: Location, own: Location): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `The mount ${mount.path} cannot be writable: ${own.path}, which Vivarium itself uses, is part of it or holds it. Mount another directory, make it read-only, or choose another \`dataDir\`.`,
  );
}
