/** Removes trees that sessions have made, however deep they are, whatever they are called, and while they change. */
import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errnoOf } from '../../../workspace/errno.ts';
import { HeldDirectory } from '../../../workspace/held-directory.ts';

/** The longest time without a turn for other tasks. */
const SLICE_MS = 8;

/**
 * Removes everything in a directory of ours. Each directory is moved up to it before it is emptied, so that no path gets
 * long and no more than two are open at a time.
 */
export async function emptyDirectory(path: string, { except }: { readonly except?: string } = {}): Promise<void> {
  using root = HeldDirectory.open(path);
  const names = namesIn(root).filter((name) => name.toString() !== except);
  let sliceStartedAt = performance.now();
  for (let name = names.pop(); name !== undefined; name = names.pop()) {
    names.push(...removeOrMove(root, name));
    if (performance.now() - sliceStartedAt < SLICE_MS) continue;
    await nextTurn();
    sliceStartedAt = performance.now();
  }
}

/** Removes a name in `root`. Returns new names for the directories that were in it. */
function removeOrMove(root: HeldDirectory, name: Buffer): readonly Buffer[] {
  try {
    if (!root.statOf(name).isDirectory()) {
      root.removeFile(name);
      return [];
    }
    using directory = root.regainChild(name);
    const moved = namesIn(directory).flatMap((inner) => removeOrLift(directory, inner, root));
    root.removeDirectory(name);
    return moved;
  } catch (error) {
    // Somebody else has removed it, or a process still writes there: then it goes when the sandbox ends.
    if (['ENOENT', 'ENOTEMPTY'].includes(errnoOf(error) ?? '')) return [];
    throw error;
  }
}

function removeOrLift(directory: HeldDirectory, name: Buffer, root: HeldDirectory): readonly Buffer[] {
  if (!directory.statOf(name).isDirectory()) {
    directory.removeFile(name);
    return [];
  }
  directory.regainChild(name)[Symbol.dispose](); // one that is locked cannot be moved
  const lifted = randomBytes(12).toString('hex');
  directory.moveTo(name, root, lifted);
  return [Buffer.from(lifted)];
}

/** As bytes: they need not be text. */
function namesIn(directory: HeldDirectory): Buffer[] {
  return Array.from(directory.entries(), ({ name }) => name);
}
