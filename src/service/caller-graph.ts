import { isDeepStrictEqual } from 'node:util';
import { Command, getConfig, interrupt } from '@langchain/langgraph';
import { parseRequest, type PythonExecutionRequestInput } from './api/request.ts';
import type { SpelledResult } from './api/result.ts';
import type { Progressed, PythonExecutorService, Standing } from './service.ts';
import { ofSession, type CallingNode, type ServiceConfig } from './api/thread.ts';
import { SERVICE_APPROVAL_TYPE } from './approval/payload.ts';
import { ServiceConfigurationError } from './api/failures.ts';

export interface NestedCall {
  readonly service: PythonExecutorService;
  readonly request: PythonExecutionRequestInput;
  readonly config: ServiceConfig;
  readonly logger?: { info(message: string): void } | undefined;
  readonly capabilityName?: string | undefined;
  /** `capabilityName`, as examples of the reference write it. */
  readonly capability_name?: string | undefined;
}

/**
 * Calls the service from a node of another graph. When somebody must approve, that graph is interrupted with the question;
 * resumed with the answer, its node runs again, finds the request where it waits, and goes on with it. A request that was
 * decided elsewhere meanwhile, or that ended before the node did, gives its result and does not run again.
 */
export async function handleServiceWithInterrupts(call: NestedCall): Promise<SpelledResult> {
  const { service, request, logger, capabilityName = call.capability_name ?? 'capability' } = call;
  const parsed = parseRequest(request);
  const config = ofSession(call.config, parsed);
  const standing = await service.standing(config);
  const isSame = standing !== null && isDeepStrictEqual(standing.request, parsed);
  let caller = callerOf(isSame ? standing : null);
  // LangGraph gives the answers of this node again, in their order: those that were used up come first.
  for (let used = 0; used < (caller?.answers ?? 0); used += 1) interrupt(ANSWERED);
  let settled = isSame ? await goOn(service, standing, { ...config, caller }) : null;
  if (settled === null) {
    caller = withoutAnswers(caller);
    settled = await service.run(request, { ...config, caller });
  }
  while (settled.status !== 'completed') {
    const { id, payload } = settled.approval;
    logger?.info(`${capabilityName} waits for approval ${id}`);
    const answer: unknown = interrupt({ ...(payload as object), approval_id: id });
    logger?.info(`${capabilityName} goes on: approval ${id} was answered`);
    caller = withoutAnswers(caller && { ...caller, answers: caller.answers + 1 });
    settled = await service.run(new Command({ resume: answer }), { ...config, caller });
  }
  return settled.result;
}

const ANSWERED = 'This was answered already.';

/**
 * Uses up all answers that are left. What is asked from here on nobody has seen yet, so whatever LangGraph still has was
 * given to something else: an answer whose code was lost with its process comes again, and may even come twice.
 */
function withoutAnswers(caller: CallingNode | undefined): CallingNode | undefined {
  if (caller === undefined) return undefined;
  for (let { answers } = caller; ; answers += 1) {
    try {
      interrupt(ANSWERED);
    } catch {
      return { ...caller, answers }; // none is left; where none can be given, the question itself will say so
    }
  }
}

/** How far the same request got before; null when it has to begin anew. */
async function goOn(
  service: PythonExecutorService,
  { approval, settled, caller }: Standing,
  config: ServiceConfig,
): Promise<Progressed | null> {
  if (settled !== undefined) return caller !== null && caller.id === config.caller?.id ? settled() : null;
  if (approval === null) return null;
  if (approval.status === 'expired') return service.run(new Command({ resume: false }), config);
  return { status: 'awaiting-approval', approval };
}

/** This call of a node, the same when LangGraph runs it again; undefined outside of any graph. */
function callerOf(standing: Standing | null): CallingNode | undefined {
  const { thread_id: threadId, checkpoint_ns: task } = getConfig()?.configurable ?? {};
  if (typeof task !== 'string' || task === '') return undefined;
  const id = `${String(threadId)}/${task}`;
  return { id, answers: standing?.caller?.id === id ? standing.caller.answers : 0 };
}

/** The part of a graph's state that carries a decision, in the spelling of the reference. */
export interface ApprovalState {
  readonly approval_approved?: boolean | null;
  readonly approved_payload?: Readonly<Record<string, unknown>> | null;
}

/** The name under which a capability asks: `capability` or `capability_operation`. */
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
 * Whether the graph goes on after a decision, and with what: `[false, null]` nothing was decided, `[true, payload]`
 * approved, `[true, null]` rejected. A payload that belongs to another approval is an error: code must never run on a
 * decision that was made about something else. The service itself asks as `python_executor`, whoever called it.
 */
export function getApprovalResumeData(state: ApprovalState, approvalType: string): ApprovalResume {
  const { approval_approved: approved = null, approved_payload: payload = null } = state;
  if (approved === null && payload === null) return [false, null];
  if (approved === false) return [true, null];
  if (approved !== true || payload === null || typeof payload !== 'object') {
    throw new ServiceConfigurationError(
      'The state says that something was approved, and not what: approval_approved must be true or false, with approved_payload when it is true. Set both from one answer to the interrupt, and clear both with clearApprovalState().',
    );
  }
  const found = payload['approval_type'];
  if (found === approvalType || found === SERVICE_APPROVAL_TYPE) return [true, payload];
  throw new ServiceConfigurationError(
    `The state carries an approval of type ${JSON.stringify(found)}, and ${JSON.stringify(approvalType)} is waited for. Clear the state with clearApprovalState() when an approval was used.`,
  );
}

/** The update that forgets a decision which has been used. */
export function clearApprovalState(): { readonly approval_approved: null; readonly approved_payload: null } {
  return { approval_approved: null, approved_payload: null };
}
