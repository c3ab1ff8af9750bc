/** Starts that come to nothing: given up by their caller, or cut short because a process was killed. */
import { globSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { startLocalEngine } from '../../../src/engine/local/engine.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import { descendants, roleOf } from './processes.ts';

const GIVE_UP_MS = [0, 5, 20, 40, 60, 80, 100, 150, 200, 300];

let dataDir: string;
beforeAll(async () => void (dataDir = await mkdtemp(path.join(tmpdir(), 'viv-start-'))));
afterAll(() => rm(dataDir, { recursive: true }));

/** Starts an engine and closes it. Resolves to the error if it does not start. */
async function startAndClose(signal?: AbortSignal): Promise<unknown> {
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
  const config = parseConfig({ preload: ['json'], poolSize: 2, dataDir });
  try {
    const engine = await startLocalEngine({ config, ...environment, ...(signal && { signal }) });
    await engine.close();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Control groups, directories and processes that are still there. */
async function leftovers(): Promise<unknown[]> {
  const groups = globSync(`/sys/fs/cgroup/**/vivarium-${process.pid}-*`);
  return [...groups, ...(await readdir(path.join(dataDir, 'sessions'))), ...descendants()];
}

test.for(GIVE_UP_MS)('a start that is given up after %i ms leaves nothing behind', async (delayMs) => {
  await startAndClose(delayMs === 0 ? AbortSignal.abort() : AbortSignal.timeout(delayMs));
  expect(await leftovers()).toEqual([]);
});

test.for(GIVE_UP_MS)('a start whose process is killed after %i ms leaves nothing behind', async (delayMs) => {
  const starting = startAndClose();
  await sleep(delayMs);
  for (const one of descendants()) {
    if (roleOf(one) === 'outside') {
      try {
        process.kill(one.pid, 'SIGKILL');
      } catch {
        continue; // it has just ended by itself
      }
    }
  }
  await starting;
  expect(await leftovers()).toEqual([]);
});
