import type { NetworkConnection } from '../../../execution/execution.ts';
import type { NetworkUse } from '../../run-end.ts';
import type { NetworkAttempt, NetworkListener, Traffic } from './gate.ts';

/** The most connections that one run tells about. The others are counted. */
const MAX_TOLD = 500;

interface Line {
  readonly id: number;
  readonly connection: NetworkConnection;
  isOpen: boolean;
  /** An earlier run has told it. It is told again only if something passed on it. */
  isTold: boolean;
  sent: number;
  received: number;
  toldSent: number;
  toldReceived: number;
}

/** What the programs of a session wanted to reach. Between runs it is kept for the next one. */
export class NetworkLog implements NetworkListener {
  readonly #tellsAllowed: boolean;
  #lines: Line[] = [];
  #omitted = 0;
  #listener: ((connection: NetworkConnection) => void) | null = null;

  constructor({ log }: { readonly log: boolean }) {
    this.#tellsAllowed = log;
  }

  /** Takes over what an earlier interpreter of the session did and no run has told. */
  inherit(earlier: NetworkLog): void {
    this.#lines = earlier.#lines.filter(({ isTold }) => !isTold).map((line) => ({ ...line, isOpen: false }));
    this.#omitted = earlier.#omitted;
  }

  /** A run begins. It is told what happened since the one before, and from now on everything at once. */
  begin(listener: (connection: NetworkConnection) => void): void {
    this.#listener = listener;
    for (const { isTold, connection } of this.#lines) if (!isTold) listener(connection);
  }

  /** A run has ended. Returns what belongs to it, with what has passed on connections that are still open. */
  end(open: readonly Traffic[] | null): NetworkUse {
    for (const traffic of open ?? []) this.#count(traffic);
    const told = this.#lines.filter(
      ({ isTold, sent, received, toldSent, toldReceived }) => !isTold || sent > toldSent || received > toldReceived,
    );
    const use = { connections: told.map(describe), omitted: this.#omitted };
    this.#listener = null;
    this.#omitted = 0;
    this.#lines = this.#lines.filter(({ isOpen }) => isOpen);
    for (const line of this.#lines) {
      line.isTold = true;
      line.toldSent = line.sent;
      line.toldReceived = line.received;
    }
    return use;
  }

  onAttempt({ id, host, port, address, decision, reason }: NetworkAttempt): void {
    if (decision === 'allowed' && !this.#tellsAllowed) return;
    if (this.#lines.length >= MAX_TOLD) {
      this.#omitted += 1;
      return;
    }
    const connection = {
      host,
      port,
      ...(address !== null && { address }),
      decision,
      ...(reason !== null && { reason }),
    };
    const isOpen = decision === 'allowed' && reason === null;
    const nothing = { sent: 0, received: 0, toldSent: 0, toldReceived: 0 };
    this.#lines.push({ id, connection, isOpen, isTold: false, ...nothing });
    this.#listener?.(connection);
  }

  onClosed(traffic: Traffic): void {
    const line = this.#count(traffic);
    if (line !== undefined) line.isOpen = false;
  }

  #count([id, sent, received]: Traffic): Line | undefined {
    const line = this.#lines.find((one) => one.isOpen && one.id === id);
    if (line === undefined) return undefined;
    line.sent = sent;
    line.received = received;
    return line;
  }
}

function describe(line: Line): NetworkConnection {
  const { connection, sent, received, toldSent, toldReceived } = line;
  if (connection.decision === 'refused' || connection.reason !== undefined) return connection;
  return { ...connection, sentBytes: sent - toldSent, receivedBytes: received - toldReceived };
}
