import { realpathSync } from 'node:fs';
import path from 'node:path';

/**
 * The path of a directory that the host's owner names and the host writes to, without the links on it. They are followed
 * here, once: where a session can write, those that come later may be its own, and `HeldDirectory.reach` refuses them.
 */
export function withoutLinks(directory: string): string {
  const full = path.resolve(directory);
  try {
    return realpathSync(full);
  } catch (error) {
    const parent = path.dirname(full);
    if (parent === full) throw error;
    return path.join(withoutLinks(parent), path.basename(full)); // it is to be made
  }
}
