import { chmodSync, mkdirSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import path from 'node:path';
import { removeContents } from './clean-up.ts';
import { Lease } from './lease.ts';
import { Reception } from './reception.ts';

export const OWNER_SOCKET = 'owner.sock';
export const INSTANCE_NAMES = /^\d+-[0-9a-f]{8}$/;

/** Where one engine does its work. */
export interface Premises {
  readonly instance: string;
  readonly sessionsRoot: string;
  readonly sessionsDir: string;
  readonly reception: Reception;
}

/** Makes the places that an engine needs; `stack` removes them again. */
export async function takePremises(dataDir: string, cacheDir: string, stack: AsyncDisposableStack): Promise<Premises> {
  const instance = `${process.pid}-${randomDigits()}`;
  const sessionsRoot = path.join(dataDir, 'sessions');
  const sessionsDir = path.join(sessionsRoot, instance);
  // Synchronous: the first trips through the thread pool cost ten times what this does, and Python waits for us.
  mkdirSync(cacheDir, { recursive: true });
  mkdirSync(sessionsDir, { recursive: true, mode: 0o711 });
  chmodSync(sessionsDir, 0o711); // each session's own user walks through, and lists nothing
  stack.defer(() => rmdir(sessionsDir));
  const lease = await Lease.take(sessionsDir, OWNER_SOCKET);
  if (lease !== null) stack.use(lease);
  stack.defer(() => removeContents(sessionsDir, OWNER_SOCKET));
  const reception = stack.use(await Reception.start());
  return { instance, sessionsRoot, sessionsDir, reception };
}

/** Tells apart those who had the same pid. No secret: what makes those takes long to load. */
function randomDigits(): string {
  return Math.trunc(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
}
