import path from 'node:path';
import { ArtifactStore } from '../artifact/store.ts';
import type { Config } from '../config.ts';

const DAY_MS = 24 * 3_600_000;

/** Where files are kept that runs produced, for as long as the configuration says. */
export function openArtifacts({ dataDir, artifactDays, artifactMb }: Config): ArtifactStore {
  const retention = { maxAgeMs: artifactDays * DAY_MS, maxTotalBytes: artifactMb * 2 ** 20 };
  return new ArtifactStore(path.join(dataDir, 'artifacts'), retention);
}
