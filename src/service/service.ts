import { randomUUID } from 'node:crypto';
import { Command, GraphInterrupt, isCommand } from '@langchain/langgraph';
import type { Json } from '../execution/execution.ts';
import type { Approval } from '../storage/approvals/approval.ts';
import type { Storage } from '../storage/storage.ts';
import { readAnswer } from './approval/answer.ts';
import { claimRun, decideOnce } from './approval/claim.ts';
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
import { spelled, type SpelledResult } from './api/result.ts';
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

/** How far a request got. */
export type Progressed =
  | { readonly status: 'completed'; readonly result: SpelledResult }
  | { readonly status: 'awaiting-approval'; readonly approval: Approval };

export interface Standing {
  readonly request: PythonExecutionRequest;
  /** The node of another graph that waits for it. */
  readonly caller: ServiceState['caller'];
  /** What it waits for. */
  readonly approval: Approval | null;
  /** How it ended, if it has; throws its failure. */
  readonly settled?: () => Progressed;
}

/** Everything that a request tells: its progress, and last how far it got. */
export type ServiceEvent = Progress | ({ readonly type: 'settled' } & Progressed);

/** Turns a task into code, has it judged and approved, runs it and keeps the record. */
export class PythonExecutorService implements AsyncDisposable {
  readonly configuration: Configuration;
  /** Where analyzers of one's own are registered. */
  readonly analyzer: CodeAnalyzer;
  /** Where generators of one's own are registered. */
  readonly generators: GeneratorRegistry;
  readonly #parts: ServiceParts;
  #closing: Promise<void> | undefined;

  constructor(parts: ServiceParts) {
    this.configuration = parts.configuration;
    this.analyzer = parts.analyzer;
    this.generators = parts.generators;
    this.#parts = parts;
  }

  get approvals(): Storage['approvals'] {
    return this.#parts.storage.approvals;
  }

  get audit(): Storage['audit'] {
    return this.#parts.storage.audit;
  }

  /**
   * Gives the result of a request, or of one that waited and is resumed with `new Command({ resume })`. When somebody must
   * approve first it throws a GraphInterrupt, which a graph around it passes on; `run` says the same without throwing.
   */
  async invoke(input: PythonExecutionRequestInput | Command, config: ServiceConfig): Promise<SpelledResult> {
    const settled = await this.run(input, config);
    if (settled.status === 'completed') return settled.result;
    const { id, payload } = settled.approval;
    throw new GraphInterrupt([{ id, value: withId(payload, id) }]);
  }

  /** `invoke`, by the name that examples of the reference use. */
  ainvoke(input: PythonExecutionRequestInput | Command, config: ServiceConfig): Promise<SpelledResult> {
    return this.invoke(input, config);
  }

  /** How far a request gets: to its result, or to a question that somebody must answer. Failures are thrown. */
  async run(input: PythonExecutionRequestInput | Command, config: ServiceConfig): Promise<Progressed> {
    return lastOf(this.stream(input, config));
  }

  /** The same, and what happens meanwhile. */
  async *stream(
    input: PythonExecutionRequestInput | Command,
    config: ServiceConfig,
  ): AsyncGenerator<ServiceEvent, void, undefined> {
    if (isCommand(input)) yield* this.#resume(input, threadOf(config), config);
    else if (typeof input === 'object' && input !== null) yield* this.#begin(input, config);
    else throw new TypeError(`The service takes a PythonExecutionRequest or a Command, not ${typeof input}.`);
  }

  /** Where the request of a thread stands; null when it has none. */
  async standing(config: ServiceConfig): Promise<Standing | null> {
    const { values, isWaiting } = await stateOf(this.#graphRun(threadOf(config).id, config));
    const { request, outcome, approvalId, caller = null } = values;
    if (request === undefined) return null;
    const approval = isWaiting && approvalId ? await this.approvals.get(approvalId) : null;
    return { request, caller, approval, ...(outcome && { settled: () => settle(outcome) }) };
  }

  /** Decides about an approval, wherever it was asked for, and goes on with its request if there is something to do. */
  async decide(id: string, answer: unknown, { by, signal }: { by: string; signal?: AbortSignal }): Promise<Progressed> {
    return lastOf(this.streamDecision(id, answer, { by, ...(signal && { signal }) }));
  }

  /** The same, and what happens meanwhile. */
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
    threadOf(config); // before the request: what is wrong with both is most likely a call that is all wrong
    const request = parseRequest(input);
    const thread = threadOf(ofSession(config, request));
    const { execution_method: method } = withOverrides(this.configuration, thread.configurable).framework.execution;
    const { values, isWaiting } = await stateOf(this.#graphRun(thread.id, config));
    const concerns = assertFree(
      values,
      values.approvalId ? await this.approvals.get(values.approvalId) : null,
      isWaiting,
    );
    await this.approvals.withdraw(thread.id, 'a new request began on its thread');
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
        'The Command resumes nothing. Give the decision as new Command({ resume: { approved: true } }).',
      );
    }
    const user = thread.configurable['user_id'];
    const by = typeof user === 'string' ? user : 'unnamed reviewer';
    yield* this.#continue({ answer: resume, by }, thread.id, config);
  }

  /** Of all who answer, one goes on with the graph; the others are told so. */
  async *#continue(
    { answer, by, id }: { readonly answer: unknown; readonly by: string; readonly id?: string },
    threadId: string,
    config: ServiceConfig,
  ): AsyncGenerator<ServiceEvent, void, undefined> {
    yield* this.#wake(this.#graphRun(threadId, config));
    const { values, isWaiting } = await stateOf(this.#graphRun(threadId, config));
    const asked = values.approvalId ? await this.approvals.get(values.approvalId) : null;
    // Whoever decides about an old question has not seen the code of the one that its thread asks now.
    if (id !== undefined && (asked?.id !== id || values.outcome)) throw waitsForAnother(await this.approvals.get(id));
    if (!isWaiting || asked === null) throw nothingWaits(values, asked);
    const whose = { threadId, requestId: asked.requestId };
    if (asked.status === 'expired') return yield* this.#drive(new Command({ resume: true }), whose, config);
    await this.#findRecord(values);
    const { decision, by: named } = readAnswer(answer, asked);
    const approval = await decideOnce(this.approvals, asked.id, decision, named ?? by);
    await using claim = await claimRun(this.approvals, approval);
    const update = config.caller === undefined ? {} : { update: { caller: config.caller } };
    for await (const event of this.#drive(new Command({ resume: true, ...update }), whose, config)) {
      if (event.type === 'settled') await claim.finish(event.status);
      yield event;
    }
  }

  /** A process that died after it had asked, and before it paused for the answer, left a graph that does not wait. */
  async *#wake(run: GraphRun): AsyncGenerator<ServiceEvent, void, undefined> {
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
    else throw takenOver(); // its own steps have come to their end, so what is there is somebody else's
  }

  /** Before anything is decided: a service that is set up otherwise could not go on, and the decision would be lost. */
  async #findRecord({ method, folder, request }: Partial<ServiceState>): Promise<void> {
    if (!method || !folder || !request) return;
    await this.#parts
      .records(method)
      .open(folder, request)
      .catch((cause: unknown) => {
        throw new ServiceConfigurationError(
          `Nothing was decided: the record of the request, ${folder}, cannot be opened by a service that is set up like this one. Use the configuration that the request was made with.`,
          { cause },
        );
      });
  }

  #graphRun(threadId: string, { signal }: ServiceConfig): GraphRun {
    const { graph } = this.#parts;
    const { graph_recursion_limit: recursionLimit } = this.configuration.execution_control.limits;
    return { graph, threadId, recursionLimit, signal };
  }
}

async function lastOf(events: AsyncIterable<ServiceEvent>): Promise<Progressed> {
  for await (const event of events) {
    if (event.type === 'settled') return event;
  }
  throw new WorkflowError('The service ended without a result. This is a fault; please report it.', {
    stage: 'unknown',
  });
}

function settle(outcome: NonNullable<ServiceState['outcome']>): Progressed {
  if (outcome.status === 'failed') throw failureFromJson(outcome.failure);
  return { status: 'completed', result: spelled(outcome.result) };
}

function withId(payload: Approval['payload'], id: string): Json {
  return { ...(payload as Readonly<Record<string, Json>>), approval_id: id };
}
