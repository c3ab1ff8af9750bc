import { createHash } from 'node:crypto';
import type { Isolation } from '../../execution/isolation.ts';
import type { HeldMount } from './mount/table.ts';

/** Below the user ids that other sessions get, above those that distributions assign. */
const FIRST_UID = 1_800_000_000;
const UIDS = 90_000_000;

/**
 * The user as whom a session writes in a mounted directory. Sessions that share one must be the same user, also after a
 * restart: otherwise each could read but not change what another left. It is the owner of the directory, since its files
 * belong to that user anyway. In place of root it is a user for this directory only. Null: a user of the session's own.
 */
export function userOf(mounts: readonly HeldMount[], { level, uid }: Isolation): number | null {
  const shared = mounts.find(({ writable }) => writable);
  if (shared === undefined || uid !== 'own' || level !== 'namespaces') return null;
  if (shared.owner !== 0) return shared.owner;
  const digest = createHash('sha256').update(`${shared.device}:${shared.inode}`).digest();
  return FIRST_UID + (digest.readUInt32BE() % UIDS);
}
