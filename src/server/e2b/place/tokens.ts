import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** The secrets of a sandbox. Those who create it or connect to it get them, and every request into it brings one. */
export interface SandboxTokens {
  /** For all of the sandbox. */
  readonly envd: string;
  /** For its interpreter: some requests of the SDKs bring no other. */
  readonly traffic: string;
}

export function makeTokens(): SandboxTokens {
  return { envd: randomBytes(32).toString('hex'), traffic: randomBytes(32).toString('hex') };
}

/** Compares secrets without telling by its time how much of them is the same. */
export function isSame(given: string | undefined, secret: string): boolean {
  return given !== undefined && timingSafeEqual(hash(given), hash(secret));
}

/** What an address of a file is signed for. */
export interface SignedRequest {
  readonly path: string;
  readonly operation: 'read' | 'write';
  readonly username: string;
  readonly signature: string | undefined;
  /** In seconds since 1970, if the signature expires. */
  readonly expiration: string | undefined;
}

/** Whether the SDK of somebody who has the token made the address. */
export function isSigned(request: SignedRequest, token: string, nowMs: number = Date.now()): boolean {
  const { path, operation, username, signature, expiration } = request;
  if (expiration !== undefined && !(Number(expiration) * 1000 > nowMs)) return false;
  const parts = [path, operation, username, token, ...(expiration === undefined ? [] : [expiration])];
  const expected = hash(parts.join(':')).toString('base64').replace(/=+$/, '');
  return isSame(signature, `v1_${expected}`);
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
