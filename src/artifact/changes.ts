import { walk, type FoundFile, type Listing, type WalkCaps, type WalkOptions } from './place/walk.ts';

/** What a workspace held at a moment. */
export interface Inventory extends Omit<Listing, 'files'> {
  /** By path. Whoever puts a file there may add it, so that it is not taken for the doing of a run. */
  readonly files: Map<string, FoundFile>;
  /** No file that was there before has a later time of change. */
  readonly takenAtNs: bigint;
}

export interface ChangedFile extends FoundFile {
  readonly change: 'created' | 'changed';
}

/** Kernels stamp files with a clock that ticks this seldom at worst. */
const CLOCK_TICK_NS = 10_000_000n;

/** That of a workspace with nothing in it. */
export function emptyInventory(): Inventory {
  return { files: new Map(), skipped: [], skippedCount: 0, allocatedBytes: 0, cut: null, takenAtNs: 0n };
}

/** Takes stock of a workspace, so that a later inventory tells what a run has written. */
export async function takeInventory(
  workspaceDir: string,
  caps?: Partial<WalkCaps>,
  options?: Omit<WalkOptions, 'caps'>,
): Promise<Inventory> {
  const takenAtNs = BigInt(Date.now()) * 1_000_000n - CLOCK_TICK_NS;
  const { files, ...rest } = await walk(workspaceDir, { ...options, caps });
  return { ...rest, takenAtNs, files: new Map(files.map((file) => [file.path, file])) };
}

/**
 * The files that were created or changed between two inventories, by path. A program can set the time at which a file
 * was modified, but not the time at which its record changed: what is rewritten under an old date is found as well.
 */
export function changedSince(before: Inventory, after: Inventory): ChangedFile[] {
  const changed: ChangedFile[] = [];
  for (const file of after.files.values()) {
    const old = before.files.get(file.path);
    if (old !== undefined && isSame(old, file)) continue;
    // An inventory that was cut short knows nothing of most files: then the time of change alone decides.
    if (old === undefined && before.cut !== null && file.ctimeNs < before.takenAtNs) continue;
    changed.push({ ...file, change: old === undefined ? 'created' : 'changed' });
  }
  return changed.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function isSame(a: FoundFile, b: FoundFile): boolean {
  return (
    a.ino === b.ino &&
    a.ctimeNs === b.ctimeNs &&
    a.mtimeNs === b.mtimeNs &&
    a.sizeBytes === b.sizeBytes &&
    a.dev === b.dev
  );
}
