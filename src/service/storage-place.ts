import path from 'node:path';
import { defaultStoragePath } from '../storage/storage.ts';
import type { Configuration } from './config/schema.ts';

export interface Places {
  readonly dataDir: string;
  /** Where paths of the configuration begin. */
  readonly baseDir: string;
}

/** The URL or path of the database. A relative path begins where all of the configuration's do. */
export function storagePlace({ langgraph }: Configuration, { dataDir, baseDir }: Places): string {
  const { storage_url: given } = langgraph;
  if (given === undefined) return defaultStoragePath(dataDir);
  return /^[a-z][a-z0-9+.-]+:/i.test(given) ? given : path.resolve(baseDir, given);
}
