import type { FoundFile, Listing, ListOptions, Workspace } from '../workspace/workspace.ts';

/** What a workspace held at one moment. */
export interface FileInventory extends Omit<Listing, 'files'> {
  /** By path. Whoever writes a file from outside may add it, so that it does not count as written by a run. */
  readonly files: Map<string, FoundFile>;
  /** Files that were there already have no later time of change. */
  readonly takenAtNs: bigint;
}

export interface ChangedFile extends FoundFile {
  readonly change: 'created' | 'changed';
}

/** The longest time between two ticks of the clock that the kernel stamps files with. */
const CLOCK_TICK_NS = 10_000_000n;

/** The inventory of a workspace with nothing in it. */
export function emptyInventory(): FileInventory {
  return { files: new Map(), skipped: [], skippedCount: 0, allocatedBytes: 0, cut: null, takenAtNs: 0n };
}

/** Lists a workspace so that a later inventory shows what was written since. */
export async function takeInventory(workspace: Pick<Workspace, 'list'>, options?: ListOptions): Promise<FileInventory> {
  const takenAtNs = BigInt(Date.now()) * 1_000_000n - CLOCK_TICK_NS;
  const { files, ...rest } = await workspace.list(options);
  return { ...rest, takenAtNs, files: new Map(files.map((file) => [file.path, file])) };
}

/**
 * The files that were created or changed between two inventories, sorted by path. A program can set a file's time of
 * modification but not its time of change, so a file that was rewritten under an old date is found as well.
 */
export function changedSince(before: FileInventory, after: FileInventory): ChangedFile[] {
  const changed: ChangedFile[] = [];
  for (const file of after.files.values()) {
    const old = before.files.get(file.path);
    if (old !== undefined && isSame(old, file)) continue;
    // An inventory that was cut short lacks most files. Then only the time of change can decide.
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
