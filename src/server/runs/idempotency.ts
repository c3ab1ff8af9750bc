import { createHash } from 'node:crypto';
import { VivariumError, type ErrorCode } from '../../errors.ts';
import type { Client } from '../access/client.ts';
import type { RunRegistry } from './run-registry.ts';
import type { StoredStep } from './run-store.ts';
import type { ServerRun } from './server-run.ts';

/** Errors after which nothing has run, so that the same request may be sent again. */
const NEVER_RAN: ReadonlySet<ErrorCode | null> = new Set<ErrorCode>([
  'CONFIG_INVALID',
  'FORBIDDEN',
  'QUEUE_FULL',
  'RATE_LIMITED',
  'SERVER_CLOSING',
  'SESSION_BUSY',
  'SESSION_EXISTS',
  'SESSION_LIMIT',
  'SESSION_NOT_FOUND',
]);

/** A request with an idempotency key. */
export interface KeyedRequest {
  readonly key: string;
  readonly client: Client;
  /** What the key stands for: method, path and body. */
  readonly content: readonly string[];
  /** The id that its run gets, if it is the first with its key. */
  readonly runId: string;
  /** Whether it runs only in a session that is there already. */
  readonly needsSession: boolean;
  /** What it throws is not kept: nothing has run then. */
  readonly start: () => Promise<ServerRun>;
}

/** Sees to it that code is run once for each idempotency key, whatever happens to connections and to the server. */
export class Idempotency {
  readonly #runs: RunRegistry;
  /** Requests that are being noted. Those with the same key wait until there is a run that they can join. */
  readonly #starting = new Map<string, Promise<unknown>>();

  constructor(runs: RunRegistry) {
    this.#runs = runs;
  }

  /** The run of the first request with this key. */
  async run(request: KeyedRequest): Promise<ServerRun | StoredStep> {
    checkKey(request.key);
    const name = JSON.stringify([request.client.id, request.key]);
    for (let other = this.#starting.get(name); other !== undefined; other = this.#starting.get(name)) await other;
    const running = this.#run(request);
    this.#starting.set(
      name,
      running.catch(() => undefined), // told to its sender
    );
    try {
      return await running;
    } finally {
      this.#starting.delete(name);
    }
  }

  async #run(request: KeyedRequest): Promise<ServerRun | StoredStep> {
    const { key, client, content, runId, needsSession, start } = request;
    const { store } = this.#runs;
    const owner = client.id;
    const sha256 = createHash('sha256').update(JSON.stringify(content)).digest('hex');
    const first = await store.claim({ owner, key, sha256, runId }, { outlivesPowerCuts: !needsSession });
    if (first === undefined) {
      const run = await start().catch(async (error: unknown) => {
        await store.release(owner, key);
        throw error;
      });
      void run.ended.then(async ({ code }) => {
        if (NEVER_RAN.has(code)) await store.release(owner, key).catch(() => undefined); // the key then answers the error
      });
      return run;
    }
    if (first.sha256 !== sha256) {
      throw new VivariumError(
        'IDEMPOTENCY_MISMATCH',
        'This Idempotency-Key was used for a request with another body or path.',
      );
    }
    const run = this.#runs.find(first.runId, client) ?? (await store.find(first.runId, owner));
    if (run !== undefined) return run;
    throw new VivariumError(
      'IDEMPOTENCY_IN_DOUBT',
      `The server stopped during run ${first.runId}, which the first request with this Idempotency-Key began. Its code may have run in part or in full.`,
    );
  }
}

function checkKey(key: string): void {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return;
  throw new VivariumError('REQUEST_INVALID', 'Idempotency-Key must have 1 to 255 printable ASCII characters.');
}
