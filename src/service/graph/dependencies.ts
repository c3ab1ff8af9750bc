import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { sha256Of } from '../../storage/approvals/approval.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Configuration, ExecutionMethod, ExecutionMode } from '../config/schema.ts';
import type { RunAccess } from '../execution/run-access.ts';
import type { CodeExecutor } from '../execution/job.ts';
import type { CodeGenerator, SandboxFacts } from '../generation/generator.ts';
import type { CodeAnalyzer } from '../policy/code-analyzer.ts';
import type { ExecutionRecord } from '../records/record.ts';
import type { ServiceState } from './state.ts';

/** What the nodes need to do their work. */
export interface Dependencies {
  readonly configuration: Configuration;
  readonly storage: Storage;
  readonly analyzer: CodeAnalyzer;
  readonly generator: () => Promise<CodeGenerator>;
  readonly sandbox: (method: ExecutionMethod) => Promise<SandboxFacts>;
  readonly access: (method: ExecutionMethod, mode: ExecutionMode) => Promise<RunAccess>;
  readonly executor: (method: ExecutionMethod, mode: ExecutionMode) => CodeExecutor;
  /** Opens the record of the request by its folder. */
  readonly record: (state: ServiceState) => Promise<ExecutionRecord>;
}

/** Progress of a node, for callers that stream the graph. */
export type Progress =
  | { readonly type: 'status'; readonly stage: ProgressStage; readonly text: string }
  | { readonly type: 'token'; readonly text: string }
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly text: string };

export type ProgressStage = 'generation' | 'analysis' | 'approval' | 'execution';

/** Who did what to which code, for the audit log. */
export function auditEntryOf({ request, threadId, code, isApproved, approvalId }: ServiceState) {
  return {
    actor: request.sessionContext?.userId ?? SERVICE_ACTOR,
    threadId,
    ...(isApproved && approvalId !== null && { approvalId }),
    codeSha256: sha256Of(code),
  };
}

/** The actor when a request names no user. */
export const SERVICE_ACTOR = 'python_executor';

export function report(config: LangGraphRunnableConfig, progress: Progress): void {
  config.writer?.(progress);
}
