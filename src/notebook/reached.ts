/** What a run reached where its network is a list, for the metadata of its cell. */
import type { NetworkConnection } from '../execution/execution.ts';
import { wellFormed } from './text.ts';

/** Names as in the other metadata of notebooks. */
export interface Reached {
  readonly hosts: readonly ReachedHost[];
  /** Connections that are in none of `hosts`. */
  readonly omitted_connections?: number;
}

/** All connections to one host and port that were decided in the same way. */
export interface ReachedHost {
  readonly host: string;
  readonly port: number;
  readonly decision: NetworkConnection['decision'];
  readonly connections: number;
  readonly sent_bytes: number;
  readonly received_bytes: number;
}

/** A program can ask for very many. More than these say nothing more to a reader. */
const MAX_HOSTS = 50;

/** Undefined if the run wanted to reach nothing. */
export function reachedBy(connections: readonly NetworkConnection[] = [], unknown = 0): Reached | undefined {
  const hosts = new Map<string, ReachedHost>();
  let omitted = unknown;
  for (const { host, port, decision, sentBytes = 0, receivedBytes = 0 } of connections) {
    const key = JSON.stringify([host, port, decision]);
    const before = hosts.get(key);
    if (before === undefined && hosts.size >= MAX_HOSTS) {
      omitted += 1;
      continue;
    }
    hosts.set(key, {
      host: wellFormed(host),
      port,
      decision,
      connections: (before?.connections ?? 0) + 1,
      sent_bytes: (before?.sent_bytes ?? 0) + sentBytes,
      received_bytes: (before?.received_bytes ?? 0) + receivedBytes,
    });
  }
  if (hosts.size === 0 && omitted === 0) return undefined;
  return { hosts: [...hosts.values()], ...(omitted > 0 && { omitted_connections: omitted }) };
}
