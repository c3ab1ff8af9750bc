import { isDeepStrictEqual } from 'node:util';
import { Command, getConfig, GraphValueError, interrupt } from '@langchain/langgraph';
import type { Approval } from '../storage/approvals/approval.ts';
import { parseRequest, type PythonExecutionRequestInput } from './api/request.ts';
import type { SpelledResult } from './api/result.ts';
import type { RequestProgress, PythonExecutorService, RequestStatus } from './service.ts';
import { ofSession, type CallingNode, type ServiceConfig } from './api/thread.ts';
import { SERVICE_APPROVAL_TYPE } from './approval/payload.ts';
import { ApprovalRequiredError, ServiceConfigurationError } from './api/failures.ts';

export interface NestedCall {
  readonly service: PythonExecutorService;
  readonly request: PythonExecutionRequestInput;
  readonly config: ServiceConfig;
  readonly logger?: { info(message: string): void } | undefined;
  readonly capabilityName?: string | undefined;
  /** Same as `capabilityName`, in the spelling of the reference's examples. */
  readonly capability_name?: string | undefined;
}

/**
 * Calls the service from a node of another graph. If approval is needed, that graph is interrupted. When it is resumed with
 * the answer, its node runs again, finds the waiting request and continues it. A request that was decided elsewhere in the
 * meantime, or that ended before the node did, returns its result and does not run again. Outside of a graph, code that needs
 * approval is an ApprovalRequiredError.
 */
export async function handleServiceWithInterrupts(call: NestedCall): Promise<SpelledResult> {
  const { service, request, logger, capabilityName = call.capability_name ?? 'capability' } = call;
  const parsed = parseRequest(request);
  const config = ofSession(call.config, parsed);
  const status = await service.status(config);
  const isSame = status !== null && isDeepStrictEqual(status.request, parsed);
  let caller = callerOf(isSame ? status : null);
  // LangGraph replays the answers to this node in order, so those already consumed come first.
  for (let used = 0; used < (caller?.answers ?? 0); used += 1) interrupt(ANSWERED);
  let settled = isSame ? await continueRequest(service, status, { ...config, caller }) : null;
  if (settled === null) {
    caller = withoutAnswers(caller);
    settled = await service.run(request, { ...config, caller });
  }
  while (settled.status !== 'completed') {
    const { id } = settled.approval;
    logger?.info(`${capabilityName} waits for approval ${id}`);
    const answer = interruptWith(settled.approval);
    logger?.info(`${capabilityName} continues: approval ${id} was answered`);
    caller = withoutAnswers(caller && { ...caller, answers: caller.answers + 1 });
    settled = await service.run(new Command({ resume: answer }), { ...config, caller });
  }
  for (const warning of settled.result.analysisWarnings) logger?.info(`${capabilityName}: ${warning}`);
  return settled.result;
}

/** Interrupts the graph around this call. Without one, the request keeps waiting, and the error says how to go on. */
function interruptWith({ id, payload }: Approval): unknown {
  try {
    return interrupt({ ...(payload as object), approval_id: id });
  } catch (cause) {
    const hasGraph = getConfig() !== undefined && !(cause instanceof GraphValueError);
    if (hasGraph) throw cause; // the interrupt itself, which LangGraph expects
    throw new ApprovalRequiredError(
      `The code needs approval, but there is no graph to interrupt: the service was called outside of a LangGraph node, or in a graph without a checkpointer. The request waits as approval ${id}. Decide it with service.decide("${id}", { type: "approve" }, { by: "…" }), which returns the result, or call the service from a node of a graph that was compiled with a checkpointer.`,
      { approvalId: id, payload, cause },
    );
  }
}

const ANSWERED = 'This has already been answered.';

/**
 * Consumes all remaining answers. Nobody has seen the next question yet, so any answer that LangGraph still has belongs to
 * an earlier one: the answer for code that was lost with its process is replayed, possibly twice.
 */
function withoutAnswers(caller: CallingNode | undefined): CallingNode | undefined {
  if (caller === undefined) return undefined;
  for (let { answers } = caller; ; answers += 1) {
    try {
      interrupt(ANSWERED);
    } catch {
      return { ...caller, answers }; // none is left; outside a graph, the next interrupt reports the problem
    }
  }
}

/** How far the same request got before, or null if it must start again. */
async function continueRequest(
  service: PythonExecutorService,
  { approval, settled, caller }: RequestStatus,
  config: ServiceConfig,
): Promise<RequestProgress | null> {
  if (settled !== undefined) return caller !== null && caller.id === config.caller?.id ? settled() : null;
  if (approval === null) return null;
  if (approval.status === 'expired') return service.run(new Command({ resume: false }), config);
  return { status: 'awaiting-approval', approval };
}

/** Identifies this call of a node, also when LangGraph runs it again. Undefined outside a graph. */
function callerOf(status: RequestStatus | null): CallingNode | undefined {
  const { thread_id: threadId, checkpoint_ns: task } = getConfig()?.configurable ?? {};
  if (typeof task !== 'string' || task === '') return undefined;
  const id = `${String(threadId)}/${task}`;
  return { id, answers: status?.caller?.id === id ? status.caller.answers : 0 };
}

/** The part of a graph's state that holds a decision, in the spelling of the reference. */
export interface ApprovalState {
  readonly approval_approved?: boolean | null;
  readonly approved_payload?: Readonly<Record<string, unknown>> | null;
}

/** The approval type of a capability: `capability` or `capability_operation`. */
export function createApprovalType(capabilityName: string, operationType?: string): string {
  const name = operationType === undefined ? capabilityName : `${capabilityName}_${operationType}`;
  if (/^\w+$/.test(name)) return name;
  throw new ServiceConfigurationError(
    `"${name}" cannot name an approval. Use letters, digits and "_" for the capability and its operation.`,
  );
}

export type ApprovalResume =
  | readonly [hasResume: false, payload: null]
  | readonly [hasResume: true, payload: Readonly<Record<string, unknown>> | null];

/**
 * Whether the graph continues after a decision: `[false, null]` means no decision, `[true, payload]` approved,
 * `[true, null]` rejected. A payload of another approval type is an error, because code must never run on a decision about
 * something else. The service's own approvals have the type `python_executor`, whatever capability called it.
 */
export function getApprovalResumeData(state: ApprovalState, approvalType: string): ApprovalResume {
  const { approval_approved: approved = null, approved_payload: payload = null } = state;
  if (approved === null && payload === null) return [false, null];
  if (approved === false) return [true, null];
  if (approved !== true || payload === null || typeof payload !== 'object') {
    throw new ServiceConfigurationError(
      'The state says that something was approved, but not what: approval_approved must be true or false, and true needs an approved_payload. Set both from one answer to the interrupt, and clear both with clearApprovalState().',
    );
  }
  const found = payload['approval_type'];
  if (found === approvalType || found === SERVICE_APPROVAL_TYPE) return [true, payload];
  throw new ServiceConfigurationError(
    `The state carries an approval of type ${JSON.stringify(found)}, but ${JSON.stringify(approvalType)} is expected. Clear the state with clearApprovalState() once an approval has been used.`,
  );
}

/** The state update that clears a decision after it has been used. */
export function clearApprovalState(): { readonly approval_approved: null; readonly approved_payload: null } {
  return { approval_approved: null, approved_payload: null };
}
