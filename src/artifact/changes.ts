import type { FoundFile, Listing, ListOptions, Touched, Workspace } from '../workspace/workspace.ts';

/** What a workspace held at one moment. */
export interface FileInventory extends Omit<Listing, 'files' | 'allocatedBytes'> {
  /** By path. A caller that writes a file from outside may note it with `replaceFile`, so that no run counts as its writer. */
  readonly files: Map<string, FoundFile>;
  /** The files that have further names, by which they can change. */
  readonly linked: Set<string>;
  allocatedBytes?: number;
  /** Files that were there already have no later time of change. */
  takenAtNs: bigint;
}

export interface ChangedFile extends FoundFile {
  readonly change: 'created' | 'changed';
}

/** The longest time between two ticks of the clock that the kernel stamps files with. */
const CLOCK_TICK_NS = 10_000_000n;

/** The inventory of a workspace with nothing in it. */
export function emptyInventory(): FileInventory {
  const nothing = { skipped: [], skippedCount: 0, allocatedBytes: 0, cut: null };
  return { ...nothing, files: new Map(), linked: new Set(), takenAtNs: 0n };
}

/** Lists a workspace so that a later inventory shows what was written since. */
export async function takeInventory(workspace: Pick<Workspace, 'list'>, options?: ListOptions): Promise<FileInventory> {
  const takenAtNs = presentNs();
  const { files, ...rest } = await workspace.list(options);
  const linked = new Set(files.filter(({ isLinked }) => isLinked).map(({ path }) => path));
  return { ...rest, takenAtNs, linked, files: new Map(files.map((file) => [file.path, file])) };
}

/**
 * Brings an inventory up to date by a look at what was touched. Returns the present inventory, and what was created or
 * changed since, sorted by path.
 */
export async function updateInventory(
  inventory: FileInventory,
  workspace: Pick<Workspace, 'list' | 'look'>,
  { paths, folders }: Touched,
): Promise<{ readonly inventory: FileInventory; readonly changed: ChangedFile[] }> {
  const takenAtNs = presentNs();
  const suspects = new Set([...paths, ...inventory.linked, ...pathsBelow(inventory, new Set(folders))]);
  const changed = new Map<string, ChangedFile>();
  let hasNewNames = false;
  await workspace.look?.(suspects, (path, file) => {
    const old = replaceFile(inventory, path, file);
    if (file === null || (old !== undefined && isSame(old, file))) return;
    hasNewNames ||= file.isLinked === true && old?.isLinked !== true;
    // An inventory that was cut short lacks most files.
    const isCreated = old === undefined && (inventory.cut === null || file.bornNs >= inventory.takenAtNs);
    changed.set(path, { ...file, change: isCreated ? 'created' : 'changed' });
  });
  inventory.takenAtNs = takenAtNs;
  if (!hasNewNames) return { inventory, changed: sorted(changed.values()) };
  const present = await takeInventory(workspace); // the same file under its other name has to be found
  for (const file of changedSince(inventory, present)) if (!changed.has(file.path)) changed.set(file.path, file);
  return { inventory: present, changed: sorted(changed.values()) };
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
  return sorted(changed);
}

/** Notes the present state of one path, null if there is no file. Returns what was known of it. */
export function replaceFile(inventory: FileInventory, path: string, file: FoundFile | null): FoundFile | undefined {
  const old = inventory.files.get(path);
  if (file === null) inventory.files.delete(path);
  else inventory.files.set(path, file);
  if (file?.isLinked) inventory.linked.add(path);
  else inventory.linked.delete(path);
  if (inventory.allocatedBytes !== undefined) {
    inventory.allocatedBytes += (file?.allocatedBytes ?? 0) - (old?.allocatedBytes ?? 0);
  }
  return old;
}

function pathsBelow({ files }: FileInventory, folders: ReadonlySet<string>): string[] {
  if (folders.size === 0) return [];
  return [...files.keys()].filter((path) => {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      if (folders.has(path.slice(0, end))) return true;
    }
    return false;
  });
}

function presentNs(): bigint {
  return BigInt(Date.now()) * 1_000_000n - CLOCK_TICK_NS;
}

function sorted(files: Iterable<ChangedFile>): ChangedFile[] {
  return [...files].toSorted((a, b) => (a.path < b.path ? -1 : 1));
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
