/** The keys of a server: made, listed, removed, and looked up for each request. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import path from 'node:path';
import { z } from 'zod';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import { SqliteFile } from '../../storage/sqlite/file.ts';
import type { Quotas } from './client.ts';

const PREFIX = 'vvm_';
const SECRET_BYTES = 32;
/** Nothing that is longer can be a key, so it is not even hashed. */
const MAX_CHARS = 200;
/** How often it is written down that a key is in use. */
const USED_EVERY_MS = 60_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    sha256 BLOB NOT NULL UNIQUE,
    createdAt INTEGER NOT NULL,
    usedAt INTEGER,
    maxSessions INTEGER,
    maxRuns INTEGER,
    requestsPerSecond REAL,
    burst INTEGER NOT NULL
  ) STRICT;
`;

/** What a key may do: what is its own, or everything. */
export type KeyRole = 'client' | 'admin';

/** A key without its secret. */
export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly role: KeyRole;
  readonly createdAt: Date;
  /** To the minute; null if it was never used. */
  readonly usedAt: Date | null;
  readonly quotas: Quotas;
}

const Quota = z.int().positive().nullable();

/** What a new key is made with. Whatever is left out has a default, which for an admin is no limit. */
const NewKey = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][\w.@-]{0,99}$/, 'must have up to 100 letters, digits, ".", "_", "@" or "-"'),
  role: z.enum(['client', 'admin']),
  maxSessions: Quota.exactOptional(),
  maxRuns: Quota.exactOptional(),
  requestsPerSecond: z.number().min(0.01).max(1e6).nullable().exactOptional(),
  burst: z.int().positive().exactOptional(),
});
export type NewKey = Readonly<z.input<typeof NewKey>>;

/** The quotas of a client whose key was made without others. */
export const USUAL_QUOTAS: Quotas = { maxSessions: 50, maxRuns: 16, requestsPerSecond: 100, burst: 200 };
const NO_QUOTAS: Quotas = { maxSessions: null, maxRuns: null, requestsPerSecond: null, burst: 200 };

export class KeyStore implements Disposable {
  readonly #file: SqliteFile;
  readonly #writtenAt = new Map<string, number>();

  private constructor(file: SqliteFile) {
    this.#file = file;
  }

  /** Creates the file if it is missing. Several processes may have it open. */
  static async open(dataDir: string): Promise<KeyStore> {
    using stack = new DisposableStack();
    const file = stack.use(await SqliteFile.open(path.join(dataDir, 'keys.sqlite')));
    await file.transact((_, execute) => execute(SCHEMA));
    stack.move(); // the caller owns it now
    return new KeyStore(file);
  }

  /** Makes a key. Its secret is in what is returned, and nowhere else. */
  async add(input: NewKey): Promise<{ readonly record: KeyRecord; readonly secret: string }> {
    const { name, role, ...given } = parse(NewKey, input);
    const quotas = { ...(role === 'admin' ? NO_QUOTAS : USUAL_QUOTAS), ...given };
    const secret = PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
    const record = {
      id: `key-${randomBytes(8).toString('hex')}`,
      name,
      role,
      createdAt: new Date(),
      usedAt: null,
      quotas,
    };
    await this.#file.transact((run) => {
      if (run('SELECT 1 FROM keys WHERE name = ?', [name]).length > 0) {
        throw new VivariumError(
          'CONFIG_INVALID',
          `There is a key "${name}" already. Choose another name, or remove it.`,
        );
      }
      const { maxSessions, maxRuns, requestsPerSecond, burst } = quotas;
      const values = [record.id, name, role, hashOf(secret), record.createdAt.getTime(), null];
      run('INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)', [
        ...values,
        maxSessions,
        maxRuns,
        requestsPerSecond,
        burst,
      ]);
    });
    return { record, secret };
  }

  /** Oldest first. */
  async list(): Promise<readonly KeyRecord[]> {
    return (await this.#file.all('SELECT * FROM keys ORDER BY createdAt, rowid', [])).map((row) => toRecord(row));
  }

  /** From the next request on, the key is unknown in all processes. */
  async remove(name: string): Promise<KeyRecord> {
    const [row] = await this.#file.transact((run) => run('DELETE FROM keys WHERE name = ? RETURNING *', [name]));
    if (row !== undefined) return toRecord(row);
    throw new VivariumError(
      'NOT_FOUND',
      `There is no key "${name}". \`vivarium keys list\` prints those that there are.`,
    );
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#file.all('SELECT 1 FROM keys LIMIT 1', [])).length === 0;
  }

  /** The key with this secret. Asks the file each time: a removed key must not work for another moment. */
  async find(secret: string): Promise<KeyRecord | undefined> {
    if (!secret.startsWith(PREFIX) || secret.length > MAX_CHARS) return undefined;
    const hash = hashOf(secret);
    const [row] = await this.#file.all('SELECT * FROM keys WHERE sha256 = ?', [hash]);
    const stored = row?.['sha256'];
    if (row === undefined || !(stored instanceof Uint8Array) || !timingSafeEqual(stored, hash)) return undefined;
    const record = toRecord(row);
    this.#noteUse(record.id);
    return record;
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }

  /** Nobody waits for it, and nobody is refused because it failed. */
  #noteUse(id: string): void {
    const now = Date.now();
    if (now - (this.#writtenAt.get(id) ?? 0) < USED_EVERY_MS) return;
    this.#writtenAt.set(id, now);
    this.#file.all('UPDATE keys SET usedAt = ? WHERE id = ?', [now, id]).catch(() => this.#writtenAt.delete(id));
  }
}

function hashOf(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest();
}

/** The table is strict, so its values have the declared types. */
function toRecord(row: Record<string, unknown>): KeyRecord {
  const { id, name, role, createdAt, usedAt, maxSessions, maxRuns, requestsPerSecond, burst } = row as unknown as Row;
  return {
    id,
    name,
    role,
    createdAt: new Date(createdAt),
    usedAt: usedAt === null ? null : new Date(usedAt),
    quotas: { maxSessions, maxRuns, requestsPerSecond, burst },
  };
}

interface Row extends Quotas {
  readonly id: string;
  readonly name: string;
  readonly role: KeyRole;
  readonly createdAt: number;
  readonly usedAt: number | null;
}
