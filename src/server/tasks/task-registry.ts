import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { VivariumError } from '../../errors.ts';
import { PythonExecutorError, type ErrorCategory } from '../../service/api/failures.ts';
import type { RequestProgress, ServiceEvent } from '../../service/service.ts';
import type { Approval } from '../../storage/approvals/approval.ts';
import type { Client } from '../access/client.ts';
import { describeError } from '../http/errors.ts';
import { EventLog } from '../runs/event-log.ts';
import { Shelf } from '../runs/shelf.ts';
import type { Services } from './services.ts';

const NAMESPACE = 'python_executor';

/** A task, as it is answered. */
export type TaskView = { readonly id: string } & (
  | { readonly status: 'running' | 'interrupted' }
  | { readonly status: 'awaiting-approval'; readonly approval: Approval }
  | { readonly status: 'completed'; readonly result: unknown }
  | {
      readonly status: 'failed';
      readonly failure: { readonly type: string; readonly category: ErrorCategory; readonly message: string };
    }
);

/** How the work on a task ended: with its view, or with an error if nothing came of it. */
export interface TaskEnd {
  readonly status: number;
  /** JSON. */
  readonly body: string;
}

/** The work on a task: from its request, or from a decision, to the next approval or to its end. */
export class TaskWork {
  readonly id: string;
  /** The client that it belongs to. */
  readonly owner: string | null;
  readonly log: EventLog;
  /** Never rejects. */
  readonly ended: Promise<TaskEnd>;
  readonly #stop = new AbortController();
  #end: TaskEnd | undefined;

  constructor(
    id: string,
    owner: string | null,
    log: EventLog,
    work: (signal: AbortSignal) => AsyncIterable<ServiceEvent>,
  ) {
    this.id = id;
    this.owner = owner;
    this.log = log;
    this.ended = this.#run(work);
  }

  /** Undefined while it goes on. */
  get end(): TaskEnd | undefined {
    return this.#end;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #run(work: (signal: AbortSignal) => AsyncIterable<ServiceEvent>): Promise<TaskEnd> {
    const end = await this.#follow(work(this.#stop.signal)).catch((error: unknown) => this.#fail(error));
    this.#end = end;
    const isView = end.status === 200;
    void this.log.append(isView ? 'settled' : 'error', isView ? `{"type":"settled","task":${end.body}}` : end.body);
    this.log.end();
    return end;
  }

  async #follow(events: AsyncIterable<ServiceEvent>): Promise<TaskEnd> {
    for await (const event of events) {
      if (event.type === 'settled') return { status: 200, body: JSON.stringify(viewOf(this.id, event)) };
      await this.log.append(event.type, JSON.stringify(event));
    }
    throw new TypeError('the events of a task ended before it was settled');
  }

  #fail(error: unknown): TaskEnd {
    if (error instanceof PythonExecutorError) return { status: 200, body: JSON.stringify(failed(this.id, error)) };
    const { status, body } = describeError(error);
    return { status, body: JSON.stringify(body) };
  }
}

/** The tasks of the execution service. Those that nobody works on are in its database. */
export class TaskRegistry implements AsyncDisposable {
  readonly #services: Services;
  readonly #directory: string;
  readonly #works = new Map<string, TaskWork>();
  readonly #running = new Set<TaskWork>();
  readonly #ended = new Shelf<TaskWork>({
    isInUse: ({ log }) => log.hasReaders,
    onRemove: (work) => {
      if (this.#works.get(work.id) === work) this.#works.delete(work.id);
      work.log[Symbol.dispose]();
    },
  });

  constructor(services: Services, directory: string) {
    this.#services = services;
    this.#directory = directory;
  }

  get running(): ReadonlySet<TaskWork> {
    return this.#running;
  }

  /** Begins a task of a client. */
  async begin(request: Readonly<Record<string, unknown>>, { id: owner }: Client): Promise<TaskWork> {
    const service = await this.#services.of(owner);
    const id = randomUUID();
    return this.#work(id, owner, (signal) => service.stream(request, { ...configOf(id, owner), signal }));
  }

  /** Decides about an approval, and goes on with the task that waits for it. */
  async decide(approvalId: string, decision: unknown, client: Client): Promise<TaskWork> {
    const { threadId } = await this.approval(approvalId, client);
    const { id, owner } = partsOf(threadId);
    const service = await this.#services.of(owner);
    return this.#work(id, owner, (signal) => service.streamDecision(approvalId, decision, { by: client.name, signal }));
  }

  /** The work on a task that goes on, or ended a short time ago. */
  find(id: string, client: Client): TaskWork | undefined {
    const work = this.#works.get(id);
    return work !== undefined && (client.id === null || client.id === work.owner) ? work : undefined;
  }

  async view(id: string, client: Client): Promise<TaskEnd> {
    const work = this.find(id, client);
    if (work !== undefined && work.end === undefined) return ended({ id, status: 'running' });
    if (work?.end?.status === 200) return work.end; // otherwise nothing came of it, and the task is as it was
    const status = await (await this.#services.of(client.id)).status(configOf(id, client.id));
    if (status === null) throw new VivariumError('NOT_FOUND', `There is no task ${JSON.stringify(id)}.`);
    const { approval, settled } = status;
    if (approval !== null) return ended({ id, status: 'awaiting-approval', approval });
    return ended(settled === undefined ? { id, status: 'interrupted' } : settle(id, settled));
  }

  /** To a client, another's approval does not exist. */
  async approval(id: string, client: Client): Promise<Approval> {
    const approval = await (await this.#services.of(client.id)).approvals.get(id);
    if (isOf(approval, client)) return approval;
    throw new VivariumError('APPROVAL_NOT_FOUND', `There is no approval ${JSON.stringify(id)}.`);
  }

  async approvals(filter: { readonly status?: Approval['status'] }, client: Client): Promise<Approval[]> {
    const found = await (await this.#services.of(client.id)).approvals.list({ ...filter, limit: 1000 });
    return found.filter((approval) => isOf(approval, client));
  }

  /** Stops the work on all tasks. What has become of it can still be read. */
  async stop(): Promise<void> {
    const running = [...this.#running];
    for (const work of running) work.stop();
    await Promise.all(running.map(({ ended: end }) => end));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#ended[Symbol.dispose]();
  }

  #work(id: string, owner: string | null, work: (signal: AbortSignal) => AsyncIterable<ServiceEvent>): TaskWork {
    const log = new EventLog(() => path.join(this.#directory, `events-${randomUUID()}`));
    const begun = new TaskWork(id, owner, log, work);
    const earlier = this.#works.get(id);
    // A second decision fails, and must not hide the work that the first one began.
    if (earlier === undefined || earlier.end !== undefined) this.#works.set(id, begun);
    this.#running.add(begun);
    void begun.ended.then(({ body }) => {
      this.#running.delete(begun);
      this.#ended.put(begun, begun.log.memoryBytes + body.length);
    });
    return begun;
  }
}

function configOf(id: string, owner: string | null): { readonly configurable: Readonly<Record<string, string>> } {
  return { configurable: { thread_id: id, checkpoint_ns: NAMESPACE, ...(owner !== null && { user_id: owner }) } };
}

/** The task and the client that a thread belongs to: `NAMESPACE/client/task`, without the client for the owner. */
function partsOf(threadId: string): { readonly id: string; readonly owner: string | null } {
  const steps = threadId.split('/').map(decodeURIComponent);
  return { id: steps.at(-1) ?? '', owner: steps.length > 2 ? (steps[1] ?? null) : null };
}

function isOf({ threadId }: Approval, { id }: Client): boolean {
  return id === null || threadId.startsWith(`${NAMESPACE}/${encodeURIComponent(id)}/`);
}

function viewOf(id: string, progress: RequestProgress): TaskView {
  return progress.status === 'completed'
    ? { id, status: 'completed', result: progress.result }
    : { id, status: 'awaiting-approval', approval: progress.approval };
}

function settle(id: string, settled: () => RequestProgress): TaskView {
  try {
    return viewOf(id, settled());
  } catch (error) {
    if (error instanceof PythonExecutorError) return failed(id, error);
    throw error;
  }
}

function failed(id: string, { name: type, category, message }: PythonExecutorError): TaskView {
  return { id, status: 'failed', failure: { type, category, message } };
}

function ended(view: TaskView): TaskEnd {
  return { status: 200, body: JSON.stringify(view) };
}
