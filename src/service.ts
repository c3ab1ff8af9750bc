/** The execution service: generates code for a task, analyzes it, has it approved, runs it and records it. Needs LangGraph. */
export { startPythonExecutor } from './service/start.ts';
export type { PythonExecutorOptions } from './service/start.ts';
export { PythonExecutorService } from './service/service.ts';
export type { RequestProgress, ServiceEvent, RequestStatus } from './service/service.ts';
export type { ServiceConfig } from './service/api/thread.ts';
export type { Progress } from './service/graph/dependencies.ts';
export { parseRequest, PythonExecutionRequest } from './service/api/request.ts';
export type { PythonExecutionRequestFields, PythonExecutionRequestInput } from './service/api/request.ts';
export { successOnTheWire } from './service/api/result.ts';
export type { PythonExecutionSuccess, PythonServiceResult } from './service/api/result.ts';
export type { SpelledResult } from './service/api/result.ts';
export { pythonResultsContext, summarizePythonResults } from './service/api/capability-context.ts';
export { getFullConfiguration, getRegistry } from './service/registry.ts';
export { loadConfiguration } from './service/config/load.ts';
export type { Configuration } from './service/config/schema.ts';
export { handleServiceWithInterrupts } from './service/caller-graph.ts';
export type { NestedCall } from './service/caller-graph.ts';
export { clearApprovalState, createApprovalType, getApprovalResumeData } from './service/caller-graph.ts';
export type { ApprovalState } from './service/caller-graph.ts';
export { BaseCapability, capabilityNode } from './service/capability/capability.ts';
export type { CapabilityArguments, CapabilityFailed, CapabilityNode } from './service/capability/capability.ts';
export { AgentState, StateManager } from './service/capability/agent-state.ts';
export type { ContextData, ExecutionPlan, PlannedStep } from './service/capability/agent-state.ts';
export { classifyError, ErrorSeverity } from './service/capability/severity.ts';
export type { ErrorClassification } from './service/capability/severity.ts';
// The same functions in the spelling of the reference's examples.
export { capabilityNode as capability_node } from './service/capability/capability.ts';
export {
  createChannelWriteApprovalInterrupt as create_channel_write_approval_interrupt,
  createMemoryApprovalInterrupt as create_memory_approval_interrupt,
  createPlanApprovalInterrupt as create_plan_approval_interrupt,
  createStepApprovalInterrupt as create_step_approval_interrupt,
} from './service/interrupts.ts';
export { classifyError as classify_error } from './service/capability/severity.ts';
export { getFullConfiguration as get_full_configuration, getRegistry as get_registry } from './service/registry.ts';
export {
  clearApprovalState as clear_approval_state,
  createApprovalType as create_approval_type,
  getApprovalResumeData as get_approval_resume_data,
  handleServiceWithInterrupts as handle_service_with_interrupts,
} from './service/caller-graph.ts';
export type { ApprovalPayload } from './service/approval/payload.ts';
export {
  createChannelWriteApprovalInterrupt,
  createMemoryApprovalInterrupt,
  createPlanApprovalInterrupt,
  createStepApprovalInterrupt,
} from './service/interrupts.ts';
export type { ChannelWrites, MemoryChange } from './service/interrupts.ts';
export { openStorage } from './storage/storage.ts';
export type { Storage } from './storage/storage.ts';
export type { Approval, Decision } from './storage/approvals/approval.ts';
export type { CodeGenerator, ExecutionFailure } from './service/generation/generator.ts';
export { MockGenerator } from './service/generation/mock.ts';
export type { DomainAnalyzer, PolicyAnalyzer } from './service/policy/analyzers.ts';
export type { AnalysisResult } from './service/policy/analysis-result.ts';
export type { ExecutionPolicyDecision } from './service/policy/decision.ts';
export {
  ApprovalRequiredError,
  ChannelLimitsViolationError,
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
} from './service/api/failures.ts';
export type { ErrorCategory } from './service/api/failures.ts';
