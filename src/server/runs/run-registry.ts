import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import type { Session } from '../../host/session.ts';
import type { Client } from '../access/client.ts';
import { EventLog } from './event-log.ts';
import type { RunStore, StoredStep, StepKind } from './run-store.ts';
import { Shelf } from './shelf.ts';
import { ServerRun, type RunPlan, type ServedEnd } from './server-run.ts';

/** What a run takes besides its texts, roughly. */
const OVERHEAD_BYTES = 2000;

export interface RunRegistryOptions {
  /** For events that are too many for the memory. */
  readonly directory: string;
  readonly store: RunStore;
  /** How long a run goes on while nobody waits for it. */
  readonly reattachMs: number;
  /** Called when a run has ended. */
  readonly onEnd?: (run: ServerRun, end: ServedEnd) => void;
  /** Called when an end could not be kept. Its caller gets the answer all the same. */
  readonly onLoss?: (error: unknown) => void;
}

/** All runs of the server: those that go on, those that ended a short time ago, and what the store has of the others. */
export class RunRegistry implements AsyncDisposable {
  readonly #options: RunRegistryOptions;
  readonly #runs = new Map<string, ServerRun>();
  readonly #running = new Set<ServerRun>();
  readonly #ended = new Shelf<ServerRun>({
    isInUse: ({ log }) => log.hasReaders,
    onRemove: (run) => {
      this.#runs.delete(run.id);
      run.log[Symbol.dispose]();
    },
  });

  constructor(options: RunRegistryOptions) {
    this.#options = options;
  }

  get store(): RunStore {
    return this.#options.store;
  }

  /** Runs that have not ended. */
  get running(): ReadonlySet<ServerRun> {
    return this.#running;
  }

  start(plan: RunPlan): ServerRun {
    if (this.#runs.has(plan.id)) throw idInUse(plan.id);
    const { directory, reattachMs } = this.#options;
    const log = new EventLog(() => path.join(directory, `events-${randomUUID()}`));
    const run = new ServerRun(plan, {
      log,
      reattachMs,
      keep: (ended, end) => this.#keep(ended, end),
      onEnd: (ended, end) => this.#onEnd(ended, end),
    });
    this.#runs.set(run.id, run);
    this.#running.add(run);
    return run;
  }

  /** Ids that a caller has chosen may be taken. */
  async assertFree(id: string): Promise<void> {
    if (this.#runs.has(id) || (await this.store.has(id))) throw idInUse(id);
  }

  /** A run that goes on or whose events are still there. To a client, another's run does not exist. */
  find(id: string, client: Client): ServerRun | undefined {
    const run = this.#runs.get(id);
    return run !== undefined && (client.id === null || client.id === run.plan.owner) ? run : undefined;
  }

  /** A run that goes on or has ended. */
  async get(id: string, client: Client): Promise<ServerRun | StoredStep> {
    const found = this.find(id, client) ?? (await this.store.find(id, client.id));
    if (found !== undefined) return found;
    throw new VivariumError(
      'RUN_NOT_FOUND',
      `There is no run ${JSON.stringify(id)}. The header Vivarium-Run of the answer that began a run has its id.`,
    );
  }

  /** Keeps for the notebook of a session that something else than a run happened to its state. */
  async note(session: Session, kind: Exclude<StepKind, 'run'>, code = ''): Promise<void> {
    const { clientId: owner, id: sessionId } = session;
    const facts = { echo: null, mayHaveWritten: kind !== 'init', status: 204, body: '' };
    await this.#attempt({ id: randomUUID(), owner, sessionId, kind, startedAt: new Date(), code, ...facts });
  }

  /** Cancels what is still running, and waits for its end. It can still be read. */
  async stop(): Promise<void> {
    const running = [...this.#running];
    for (const run of running) run.cancel();
    await Promise.all(running.map(({ ended }) => ended));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#ended[Symbol.dispose]();
  }

  async #keep(run: ServerRun, end: ServedEnd): Promise<void> {
    const { id, owner, code, echo } = run.plan;
    const { status, body, ran } = end;
    const sessionId = ran?.sessionId ?? run.sessionId;
    const mayHaveWritten = ran?.mayHaveWritten ?? false;
    const { startedAt } = run;
    await this.#attempt({ id, owner, sessionId, kind: 'run', startedAt, code, echo, mayHaveWritten, status, body });
  }

  #onEnd(run: ServerRun, end: ServedEnd): void {
    const bytes = OVERHEAD_BYTES + run.log.memoryBytes + end.body.length + run.plan.code.length;
    this.#running.delete(run);
    this.#ended.put(run, bytes);
    this.#options.onEnd?.(run, end);
  }

  /** A full disk must not cost an answer. */
  async #attempt(step: StoredStep): Promise<void> {
    await this.store.add(step).catch((error: unknown) => this.#options.onLoss?.(error));
  }
}

function idInUse(id: string): VivariumError {
  return new VivariumError(
    'CONFIG_INVALID',
    `executionId: ${JSON.stringify(id)} is in use. Leave it out, or choose another.`,
  );
}
