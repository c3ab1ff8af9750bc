import { Annotation } from '@langchain/langgraph';
import type { PythonExecutionRequest } from '../api/request.ts';
import type { PythonServiceResult } from '../api/result.ts';
import type { ExecutionMethod } from '../config/schema.ts';
import type { CallingNode } from '../api/thread.ts';
import type { Verdict } from '../policy/analysis-result.ts';
import type { ExecutionFailure } from '../generation/generator.ts';
import type { InputFile } from '../records/inputs.ts';
import type { FailureJson } from '../api/failure-json.ts';

/** The node that runs next. */
export type Step = 'generate' | 'analyze' | 'approve' | 'execute' | 'end';

/** Retries so far, by cause. */
export interface Retries {
  readonly generation: number;
  readonly execution: number;
}

export type RequestOutcome =
  | { readonly status: 'succeeded'; readonly result: PythonServiceResult }
  | { readonly status: 'failed'; readonly failure: FailureJson };

/** Everything known about a request, checkpointed after each node. Outputs and figures are in the record's folder, not here. */
export const ServiceState = Annotation.Root({
  request: Annotation<PythonExecutionRequest>(),
  threadId: Annotation<string>(),
  /** Distinguishes two requests of the same thread. */
  requestId: Annotation<string>(),
  method: Annotation<ExecutionMethod>(),
  folder: Annotation<string>(),
  /** Files that came with the request. Copies are in the folder. */
  inputs: Annotation<readonly InputFile[]>(),
  /** Attempts in the folder that belong to earlier requests. */
  attemptsBefore: Annotation<number>(),
  /** The number of the current code among all attempts in this folder. */
  attempt: Annotation<number>(),
  code: Annotation<string>(),
  retries: Annotation<Retries>(),
  failures: Annotation<readonly ExecutionFailure[]>(),
  verdict: Annotation<Verdict | null>(),
  /** A reviewer approved or edited this code, so nobody is asked again. */
  isApproved: Annotation<boolean>(),
  approvalId: Annotation<string | null>(),
  /** The hash of the preview's run that the reviewer approved, if it is to be committed. */
  keptRunSha256: Annotation<string | null>(),
  /** The node of another graph that waits for this request, if any. */
  caller: Annotation<CallingNode | null>(),
  /** Warnings that a reviewer must see first, whatever the code is. */
  concerns: Annotation<readonly string[]>({ reducer: (_, given) => given, default: () => [] }),
  next: Annotation<Step>(),
  outcome: Annotation<RequestOutcome | null>(),
});
export type ServiceState = typeof ServiceState.State;
export type Update = Partial<ServiceState>;
/** The state once analysis has decided about the code. */
export type JudgedState = ServiceState & { readonly verdict: Verdict };

/** The state in which a request starts. */
export function initialState(
  request: PythonExecutionRequest,
  facts: Pick<
    ServiceState,
    'threadId' | 'requestId' | 'method' | 'folder' | 'inputs' | 'attemptsBefore' | 'caller' | 'concerns'
  >,
): ServiceState {
  return {
    request,
    ...facts,
    attempt: facts.attemptsBefore,
    code: '',
    retries: { generation: 0, execution: 0 },
    failures: [],
    verdict: null,
    isApproved: false,
    approvalId: null,
    keptRunSha256: null,
    next: 'generate',
    outcome: null,
  };
}
