import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Mount } from '../../config.ts';
import type { Isolation } from '../../execution/isolation.ts';

/** Below the user ids that sessions of their own take, above those that distributions hand out. */
const FIRST_WRITER = 1_800_000_000;
const WRITERS = 90_000_000;

/**
 * The user as whom a session writes in a directory of the host. Sessions that share one have to be one user there, now
 * and after a restart: else each could read and not change what another left. It is the owner of the directory, whom its
 * files belong to anyway; never root, in whose place there is a user for this directory alone. Null: one of its own.
 */
export async function writerOf(mounts: readonly Mount[], { level, uid }: Isolation): Promise<number | null> {
  const shared = mounts.find(({ writable }) => writable);
  if (shared === undefined || uid !== 'own' || level !== 'namespaces') return null;
  const stats = await stat(shared.source, { bigint: true }).catch(() => null); // who builds the walls says what is wrong
  if (stats === null) return null;
  if (stats.uid !== 0n) return Number(stats.uid);
  const digest = createHash('sha256').update(`${stats.dev}:${stats.ino}`).digest();
  return FIRST_WRITER + (digest.readUInt32BE() % WRITERS);
}
