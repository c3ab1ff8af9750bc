/** The execution service: a task becomes code that is judged, approved, run and recorded. Needs LangGraph. */
export { startPythonExecutor } from './service/start.ts';
export type { PythonExecutorOptions } from './service/start.ts';
export { PythonExecutorService } from './service/service.ts';
export type { Progressed, ServiceEvent, Standing } from './service/service.ts';
export type { ServiceConfig } from './service/thread.ts';
export type { Progress } from './service/nodes/parts.ts';
export { parseRequest, PythonExecutionRequest } from './service/request.ts';
export type { PythonExecutionRequestInput } from './service/request.ts';
export { successOnTheWire } from './service/result.ts';
export type { PythonExecutionSuccess, PythonServiceResult } from './service/result.ts';
export type { SpelledResult } from './service/spelled-result.ts';
export { pythonResultsContext, summarizePythonResults } from './service/results/capability-context.ts';
export { getFullConfiguration, getRegistry } from './service/registry.ts';
export { loadConfiguration } from './service/config/load.ts';
export type { Configuration } from './service/config/schema.ts';
export { handleServiceWithInterrupts } from './service/approval/nested.ts';
export type { NestedCall } from './service/approval/nested.ts';
export { clearApprovalState, createApprovalType, getApprovalResumeData } from './service/approval/state-helpers.ts';
export type { ApprovalState } from './service/approval/state-helpers.ts';
export {
  clear_approval_state,
  create_approval_type,
  get_approval_resume_data,
  get_full_configuration,
  get_registry,
  handle_service_with_interrupts,
} from './service/snake-case.ts';
export type { ApprovalPayload } from './service/approval/payload.ts';
export { openStorage } from './storage/storage.ts';
export type { Storage } from './storage/storage.ts';
export type { Approval, Decision } from './storage/approval/approval.ts';
export type { CodeGenerator, ExecutionFailure } from './service/generation/generator.ts';
export { MockGenerator } from './service/generation/mock.ts';
export type { DomainAnalyzer, PolicyAnalyzer } from './service/policy/analyzers.ts';
export type { AnalysisResult } from './service/policy/analysis-result.ts';
export type { ExecutionPolicyDecision } from './service/policy/decision.ts';
export {
  CodeGenerationError,
  CodeRuntimeError,
  CodeSyntaxError,
  ContainerConfigurationError,
  ContainerConnectivityError,
  EngineUnavailableError,
  ExecutionRejectedError,
  ExecutionTimeoutError,
  MaxAttemptsExceededError,
  ModelUnavailableError,
  PolicyRefusedError,
  PythonExecutorError,
  ResultsInvalidError,
  ServiceConfigurationError,
  WorkflowError,
} from './service/failures.ts';
export type { ErrorCategory } from './service/failures.ts';
