import { chmodSync, mkdirSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import path from 'node:path';
import { removeContents } from './clean-up.ts';
import { Lease } from './lease.ts';
import { Removals } from './removals.ts';
import { WorkerSocket } from './worker-socket.ts';

export const OWNER_SOCKET = 'owner.sock';
export const INSTANCE_NAMES = /^\d+-[0-9a-f]{8}$/;
/** The longest time that closing waits for files to be deleted. */
export const REMOVAL_MS = 2000;

/** One running engine: its name, its directories, and the socket that its workers connect to. */
export interface Instance {
  readonly name: string;
  /** Holds the directories of all engines that share a data directory. */
  readonly sessionsRoot: string;
  readonly sessionsDir: string;
  readonly workerSocket: WorkerSocket;
  readonly removals: Removals;
}

/** Makes what an engine needs on this machine; `stack` removes it again. */
export async function createInstance(
  dataDir: string,
  cacheDir: string,
  stack: AsyncDisposableStack,
): Promise<Instance> {
  const name = `${process.pid}-${randomDigits()}`;
  const sessionsRoot = path.join(dataDir, 'sessions');
  const sessionsDir = path.join(sessionsRoot, name);
  // Synchronous: the first calls through the thread pool take ten times as long, and Python waits for us.
  mkdirSync(cacheDir, { recursive: true });
  mkdirSync(sessionsDir, { recursive: true, mode: 0o711 });
  chmodSync(sessionsDir, 0o711); // the user of each session can pass through it but not list it
  const removals = new Removals();
  let lease: Lease | null = null;
  stack.defer(() => removeInstance(sessionsDir, lease, removals));
  lease = await Lease.take(sessionsDir, OWNER_SOCKET);
  const workerSocket = stack.use(await WorkerSocket.start());
  return { name, sessionsRoot, sessionsDir, workerSocket, removals };
}

/** Removes everything of an engine. What takes long is finished without this process, or by the next start. */
async function removeInstance(sessionsDir: string, lease: Lease | null, removals: Removals): Promise<void> {
  const removal = removeContents(sessionsDir, OWNER_SOCKET, (directory) => removals.remove(directory));
  if (await removals.wait(removal, REMOVAL_MS)) {
    await lease?.[Symbol.asyncDispose]();
    await rmdir(sessionsDir);
  } else {
    await lease?.abandon();
  }
}

/** Tells apart engines that had the same pid. It need not be secret, and node:crypto takes long to load. */
function randomDigits(): string {
  return Math.trunc(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
}
