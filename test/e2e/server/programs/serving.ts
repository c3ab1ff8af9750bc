/**
 * A server in a process of its own, which is measured from inside. Its parent gives the data directory, a Python, and
 * perhaps a directory that sessions may mount.
 */
import { readdirSync } from 'node:fs';
import { startServer } from '../../../../src/server.ts';

export interface Measured {
  readonly heapBytes: number;
  readonly descriptors: number;
}

const [dataDir = '', python = '', shared] = process.argv.slice(2);
const server = await startServer({
  drainMs: 0,
  hostOptions: { dataDir, python, preload: [], poolSize: 0 },
  ...(shared !== undefined && { ceiling: { mounts: [{ source: shared, target: shared, writable: true }] } }),
});
process.send?.(server.url);
process.on('message', () => {
  for (let times = 0; times < 3; times += 1) globalThis.gc?.();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  const measured: Measured = {
    heapBytes: heapUsed + external + arrayBuffers,
    descriptors: readdirSync('/proc/self/fd').length,
  };
  process.send?.(measured);
});
process.on('disconnect', () => void server.close());
