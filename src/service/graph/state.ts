import { Annotation } from '@langchain/langgraph';
import type { PythonExecutionRequest } from '../request.ts';
import type { PythonServiceResult } from '../result.ts';
import type { ExecutionMethod, ExecutionMode } from '../config/schema.ts';
import type { FindingKind } from '../analysis/finding.ts';
import type { ExecutionFailure } from '../generation/generator.ts';
import type { InputFile } from '../records/inputs.ts';
import type { SavedFailure } from './saved-failure.ts';

/** Where the work goes on after a node. */
export type Step = 'generate' | 'analyze' | 'approve' | 'execute' | 'end';

/** Tries again, counted by what they were for. */
export interface Retries {
  readonly generation: number;
  readonly execution: number;
}

/** What analysis and policy made of the code. */
export interface Verdict {
  readonly mode: ExecutionMode;
  readonly warnings: readonly string[];
  /** As the reviewer is shown it. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly reasoning: string;
  /** Kinds of findings that an approval of this code allows. */
  readonly approvedKinds: readonly FindingKind[];
}

/** One call of a node. LangGraph runs it again from its beginning for each answer, with all earlier answers in their order. */
export interface Caller {
  readonly id: string;
  /** Answers that this call has used up for the request. */
  readonly answers: number;
}

export type Outcome =
  | { readonly status: 'succeeded'; readonly result: PythonServiceResult }
  | { readonly status: 'failed'; readonly failure: SavedFailure };

/** All that is known of a request, checkpointed after each node. Outputs and pictures lie in the record's folder, not here. */
export const ServiceState = Annotation.Root({
  request: Annotation<PythonExecutionRequest>(),
  threadId: Annotation<string>(),
  /** Tells two requests of one thread apart. */
  requestId: Annotation<string>(),
  method: Annotation<ExecutionMethod>(),
  folder: Annotation<string>(),
  /** Files that came with the request; copies lie in the folder. */
  inputs: Annotation<readonly InputFile[]>(),
  /** Attempts in the folder that belong to an earlier request. */
  attemptsBefore: Annotation<number>(),
  /** The number of the present code among all that were tried in this folder. */
  attempt: Annotation<number>(),
  code: Annotation<string>(),
  retries: Annotation<Retries>(),
  failures: Annotation<readonly ExecutionFailure[]>(),
  verdict: Annotation<Verdict | null>(),
  /** The code was approved, or edited by who may approve: it is asked about no more. */
  isApproved: Annotation<boolean>(),
  approvalId: Annotation<string | null>(),
  /** The node of another graph that waits for this request; null when nobody does. */
  caller: Annotation<Caller | null>(),
  /** What whoever approves must know before anything else, whatever the code is. */
  concerns: Annotation<readonly string[]>({ reducer: (_, given) => given, default: () => [] }),
  next: Annotation<Step>(),
  outcome: Annotation<Outcome | null>(),
});
export type ServiceState = typeof ServiceState.State;
export type Update = Partial<ServiceState>;

/** What a request begins with. */
export function beginning(
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
    next: 'generate',
    outcome: null,
  };
}
