import { randomUUID } from 'node:crypto';
import { Command, GraphInterrupt, isCommand } from '@langchain/langgraph';
import type { Json } from '../execution/execution.ts';
import { closeBeforeExit } from '../process-life.ts';
import type { Approval } from '../storage/approvals/approval.ts';
import type { Storage } from '../storage/storage.ts';
import { readAnswer } from './approval/answer.ts';
import { claimRun, decideOnce } from './approval/claim.ts';
import { keptRunOf, readKeptRun } from './approval/kept-run.ts';
import { assertFree, nothingWaits, takenOver, waitsForAnother } from './graph/conflicts.ts';
import { runGraph, stateOf, type GraphRun } from './graph/run.ts';
import { withOverrides } from './config/load.ts';
import type { Configuration, ExecutionMethod } from './config/schema.ts';
import { ServiceConfigurationError, WorkflowError } from './api/failures.ts';
import type { GeneratorRegistry } from './generation/registry.ts';
import type { ServiceGraph } from './graph/graph.ts';
import { failureFromJson } from './api/failure-json.ts';
import { initialState, type ServiceState } from './graph/state.ts';
import type { Progress } from './graph/dependencies.ts';
import type { CodeAnalyzer } from './policy/code-analyzer.ts';
import type { Records } from './records/records.ts';
import { parseRequest, type PythonExecutionRequest, type PythonExecutionRequestInput } from './api/request.ts';
import { withBothSpellings, type SpelledResult } from './api/result.ts';
import { ofSession, threadOf, type ServiceConfig, type Thread } from './api/thread.ts';

export interface ServiceParts {
  readonly configuration: Configuration;
  readonly storage: Storage;
  readonly graph: ServiceGraph;
  readonly records: (method: ExecutionMethod) => Records;
  readonly analyzer: CodeAnalyzer;
  readonly generators: GeneratorRegistry;
  readonly owned: AsyncDisposableStack;
}

/** How far a request has got. */
export type RequestProgress =
  | { readonly status: 'completed'; readonly result: SpelledResult }
  | { readonly status: 'awaiting-approval'; readonly approval: Approval };

export interface RequestStatus {
  readonly request: PythonExecutionRequest;
  /** The node of another graph that waits for the request. */
  readonly caller: ServiceState['caller'];
  /** The approval that the request waits for. */
  readonly approval: Approval | null;
  /** Returns the result of a request that has ended, or throws its failure. */
  readonly settled?: () => RequestProgress;
}

/** The events of a request: its progress and, last, how far it has got. */
export type ServiceEvent = Progress | ({ readonly type: 'settled' } & RequestProgress);

/** Generates code for a task, analyzes it, has it approved, runs it and keeps a record. */
export class PythonExecutorService implements AsyncDisposable {
  readonly configuration: Configuration;
  /** For registering custom analyzers. */
  readonly analyzer: CodeAnalyzer;
  /** For registering custom generators. */
  readonly generators: GeneratorRegistry;
  readonly #parts: ServiceParts;
  #closing: Promise<void> | undefined;

  constructor(parts: ServiceParts) {
    this.configuration = parts.configuration;
    this.analyzer = parts.analyzer;
    this.generators = parts.generators;
    this.#parts = parts;
    parts.owned.use(closeBeforeExit(this));
  }

  get approvals(): Storage['approvals'] {
    return this.#parts.storage.approvals;
  }

  get audit(): Storage['audit'] {
    return this.#parts.storage.audit;
  }

  /**
   * Runs a request, or resumes one with `new Command({ resume })`, and returns the result. If approval is needed, it throws
   * a GraphInterrupt, which a surrounding graph passes on. `run` does the same without throwing the interrupt.
   */
  async invoke(input: PythonExecutionRequestInput | Command, config: ServiceConfig): Promise<SpelledResult> {
    const settled = await this.run(input, config);
    if (settled.status === 'completed') return settled.result;
    const { id, payload } = settled.approval;
    throw new GraphInterrupt([{ id, value: withId(payload, id) }]);
  }

  /** Same as `invoke`, in the spelling of the reference's examples. */
  ainvoke(input: PythonExecutionRequestInput | Command, config: ServiceConfig): Promise<SpelledResult> {
    return this.invoke(input, config);
  }

  /** Runs a request until it has a result or needs an approval. Throws its failure. */
  async run(input: PythonExecutionRequestInput | Command, config: ServiceConfig): Promise<RequestProgress> {
    return lastOf(this.stream(input, config));
  }

  /** Same as `run`, as a stream of events. */
  async *stream(
    input: PythonExecutionRequestInput | Command,
    config: ServiceConfig,
  ): AsyncGenerator<ServiceEvent, void, undefined> {
    if (isCommand(input)) yield* this.#resume(input, threadOf(config), config);
    else if (typeof input === 'object' && input !== null) yield* this.#begin(input, config);
    else throw new TypeError(`The service takes a PythonExecutionRequest or a Command, not ${typeof input}.`);
  }

  /** The status of a thread's request, or null if the thread has none. */
  async status(config: ServiceConfig): Promise<RequestStatus | null> {
    const { values, isWaiting } = await stateOf(this.#graphRun(threadOf(config).id, config));
    const { request, outcome, approvalId, caller = null } = values;
    if (request === undefined) return null;
    const approval = isWaiting && approvalId ? await this.approvals.get(approvalId) : null;
    return { request, caller, approval, ...(outcome && { settled: () => settle(outcome) }) };
  }

  /** Decides an approval, whichever process requested it, and continues its request. */
  async decide(
    id: string,
    answer: unknown,
    { by, signal }: { by: string; signal?: AbortSignal },
  ): Promise<RequestProgress> {
    return lastOf(this.streamDecision(id, answer, { by, ...(signal && { signal }) }));
  }

  /** Same as `decide`, as a stream of events. */
  async *streamDecision(
    id: string,
    answer: unknown,
    { by, signal }: { by: string; signal?: AbortSignal },
  ): AsyncGenerator<ServiceEvent, void, undefined> {
    const { threadId } = await this.approvals.get(id);
    yield* this.#continue({ answer, by, id }, threadId, { signal });
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#parts.owned.disposeAsync());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async *#begin(
    input: PythonExecutionRequestInput,
    config: ServiceConfig,
  ): AsyncGenerator<ServiceEvent, void, undefined> {
    threadOf(config); // checked before the request: if both are wrong, the whole call probably is
    const request = parseRequest(input);
    const thread = threadOf(ofSession(config, request));
    const { execution_method: method } = withOverrides(this.configuration, thread.configurable).framework.execution;
    const { values, isWaiting } = await stateOf(this.#graphRun(thread.id, config));
    const concerns = assertFree(
      values,
      values.approvalId ? await this.approvals.get(values.approvalId) : null,
      isWaiting,
    );
    await this.approvals.withdraw(thread.id, 'a new request started on its thread');
    const record = await this.#parts.records(method).begin(request);
    const state = initialState(request, {
      threadId: thread.id,
      requestId: randomUUID(),
      method,
      folder: record.folderPath,
      inputs: await record.keepInputs(config.files ?? {}),
      attemptsBefore: record.latestAttemptNumber,
      caller: config.caller ?? null,
      concerns,
    });
    yield* this.#drive(state, state, config);
  }

  async *#resume(
    { resume }: Command,
    thread: Thread,
    config: ServiceConfig,
  ): AsyncGenerator<ServiceEvent, void, undefined> {
    if (resume === undefined) {
      throw new ServiceConfigurationError(
        'The Command has no resume value. Pass the decision as new Command({ resume: { approved: true } }).',
      );
    }
    const user = thread.configurable['user_id'];
    const by = typeof user === 'string' ? user : 'unnamed reviewer';
    yield* this.#continue({ answer: resume, by }, thread.id, config);
  }

  /** If several reviewers answer, one continues the graph and the others get an error. */
  async *#continue(
    { answer, by, id }: { readonly answer: unknown; readonly by: string; readonly id?: string },
    threadId: string,
    config: ServiceConfig,
  ): AsyncGenerator<ServiceEvent, void, undefined> {
    yield* this.#resumeUnpaused(this.#graphRun(threadId, config));
    const { values, isWaiting } = await stateOf(this.#graphRun(threadId, config));
    const asked = values.approvalId ? await this.approvals.get(values.approvalId) : null;
    // A reviewer of an outdated approval has not seen the code that the thread asks about now.
    if (id !== undefined && (asked?.id !== id || values.outcome)) throw waitsForAnother(await this.approvals.get(id));
    if (!isWaiting || asked === null) throw nothingWaits(values, asked);
    const whose = { threadId, requestId: asked.requestId };
    if (asked.status === 'expired') return yield* this.#drive(new Command({ resume: true }), whose, config);
    await this.#assertRecordOpens(values);
    const { decision, by: named } = readAnswer(answer, asked);
    if (decision.type === 'approve') await this.#assertRunIsKept(values, asked);
    const approval = await decideOnce(this.approvals, asked.id, decision, named ?? by);
    await using claim = await claimRun(this.approvals, approval);
    const update = config.caller === undefined ? {} : { update: { caller: config.caller } };
    for await (const event of this.#drive(new Command({ resume: true, ...update }), whose, config)) {
      if (event.type === 'settled') await claim.finish(event.status);
      yield event;
    }
  }

  /** Continues a graph whose process died after storing the approval but before waiting for the answer. */
  async *#resumeUnpaused(run: GraphRun): AsyncGenerator<ServiceEvent, void, undefined> {
    const { values, isWaiting } = await stateOf(run);
    if (isWaiting || values.requestId === undefined || values.outcome) return;
    const pending = await this.approvals.list({ threadId: run.threadId, status: 'pending' });
    if (pending.some(({ requestId }) => requestId === values.requestId)) yield* runGraph(null, run);
  }

  async *#drive(
    input: ServiceState | Command,
    { threadId, requestId }: Pick<ServiceState, 'threadId' | 'requestId'>,
    config: ServiceConfig,
  ): AsyncGenerator<ServiceEvent, void, undefined> {
    const run = this.#graphRun(threadId, config);
    yield* runGraph(input, run);
    const { values, isWaiting } = await stateOf(run);
    if (values.requestId !== requestId) throw takenOver();
    if (isWaiting && values.approvalId) {
      yield { type: 'settled', status: 'awaiting-approval', approval: await this.approvals.get(values.approvalId) };
    } else if (values.outcome) yield { type: 'settled', ...settle(values.outcome) };
    else throw takenOver(); // its own steps have ended, so the state belongs to another request
  }

  /** Runs before a decision: a service with another configuration could not continue, and the decision would be lost. */
  async #assertRecordOpens({ method, folder, request }: Partial<ServiceState>): Promise<void> {
    if (!method || !folder || !request) return;
    await this.#parts
      .records(method)
      .open(folder, request)
      .catch((cause: unknown) => {
        throw new ServiceConfigurationError(
          `Nothing was decided: the record of the request, ${folder}, cannot be opened with this configuration. Use the configuration with which the request was made.`,
          { cause },
        );
      });
  }

  /** Runs before a decision, so that a reviewer can still decide otherwise when the run that was shown is not there. */
  async #assertRunIsKept({ method, folder, request }: Partial<ServiceState>, asked: Approval): Promise<void> {
    const run = keptRunOf(asked);
    if (!method || !folder || !request || run === null) return;
    try {
      const record = await this.#parts.records(method).open(folder, request);
      readKeptRun(await record.readPreview(asked.attempt), { run, code: asked.code });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new ServiceConfigurationError(`Nothing was decided: ${why}`, { cause, folderPath: folder });
    }
  }

  #graphRun(threadId: string, { signal }: ServiceConfig): GraphRun {
    const { graph } = this.#parts;
    const { graph_recursion_limit: recursionLimit } = this.configuration.execution_control.limits;
    return { graph, threadId, recursionLimit, signal };
  }
}

async function lastOf(events: AsyncIterable<ServiceEvent>): Promise<RequestProgress> {
  for await (const event of events) {
    if (event.type === 'settled') return event;
  }
  throw new WorkflowError('The service ended without a result. This is a bug; please report it.', {
    stage: 'unknown',
  });
}

function settle(outcome: NonNullable<ServiceState['outcome']>): RequestProgress {
  if (outcome.status === 'failed') throw failureFromJson(outcome.failure);
  return { status: 'completed', result: withBothSpellings(outcome.result) };
}

function withId(payload: Approval['payload'], id: string): Json {
  return { ...(payload as Readonly<Record<string, Json>>), approval_id: id };
}
