import path from 'node:path';
import { ArtifactStore } from '../artifact/store.ts';
import type { Config } from '../config.ts';

const DAY_MS = 24 * 3_600_000;

/** Opens the store of what runs produced, with the retention of the configuration. */
export function openArtifacts({ dataDir, artifactDays, artifactMb }: Config): ArtifactStore {
  const retention = { maxAgeMs: artifactDays * DAY_MS, maxTotalBytes: artifactMb * 2 ** 20 };
  return new ArtifactStore(path.join(dataDir, 'artifacts'), retention);
}
