import { VivariumError } from '../../errors.ts';
import type { Ceiling } from './ceiling/ceiling.ts';

/** Who sends a request, and what it may do. */
export interface Client {
  /** The clientId of its sessions on the host; null: the owner, who sees all (no keys on loopback, or an admin key). */
  readonly id: string | null;
  /** The id of its key; null where there is none. It is that of the client unless the key is an admin's. */
  readonly keyId: string | null;
  /** Of the key; for logs and audit. */
  readonly name: string;
  readonly isAdmin: boolean;
  /** The most that its requests may ask for; null for an admin. */
  readonly ceiling: Ceiling | null;
  /** What it may use at the same time; null where no key limits it. */
  readonly quotas: Quotas | null;
}

/** What the requests of one key may use at the same time. Null: as much as the server has. */
export interface Quotas {
  readonly maxSessions: number | null;
  /** Runs and commands at the same time. */
  readonly maxRuns: number | null;
  /** Requests per second in the long run. */
  readonly requestsPerSecond: number | null;
  /** Requests that may come at once. */
  readonly burst: number;
}

/** The client of every request while the server has no keys. Every user of the machine reaches loopback, so it has the ceiling. */
export function localOwner(ceiling: Ceiling): Client {
  return { id: null, keyId: null, name: 'local', isAdmin: true, ceiling, quotas: null };
}

/** Whose things a call to the host is about; all, if there is no client. */
export interface Scope {
  readonly clientId?: string;
}

/** The client that a request acts for: itself, or for an owner whom the request names. */
export function actingFor({ id, name }: Client, asked: string | undefined): Scope {
  if (id === null) return asked === undefined ? {} : { clientId: asked };
  if (asked === undefined || asked === id) return { clientId: id };
  throw new VivariumError(
    'CONFIG_INVALID',
    `\`clientId\` is ${JSON.stringify(asked)}, but the key "${name}" is the client "${id}". Leave it out: only an admin may act for others.`,
  );
}
