import type { Json } from '../../execution/execution.ts';

/** What can be done about a failure. */
export type ErrorCategory = 'infrastructure' | 'code_related' | 'workflow' | 'configuration';

export interface FailureFacts {
  readonly folderPath?: string | null;
  readonly technicalDetails?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The base class of all failures of the service. The category, not the message, decides what happens next. */
export abstract class PythonExecutorError extends Error {
  abstract readonly category: ErrorCategory;
  readonly folderPath: string | null;
  readonly technicalDetails: Readonly<Record<string, unknown>>;

  constructor(message: string, { folderPath = null, technicalDetails = {}, cause }: FailureFacts = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.folderPath = folderPath;
    this.technicalDetails = technicalDetails;
  }

  /** The same code may succeed if it runs again. */
  shouldRetryExecution(): boolean {
    return this.category === 'infrastructure';
  }

  /** Different code may succeed. */
  shouldRetryCodeGeneration(): boolean {
    return this.category === 'code_related';
  }

  /** A message for the end user. */
  getUserMessage(): string {
    return this.message;
  }

  // The same members in the spelling of the reference's examples.
  get folder_path(): string | null {
    return this.folderPath;
  }

  get technical_details(): Readonly<Record<string, unknown>> {
    return this.technicalDetails;
  }

  should_retry_execution(): boolean {
    return this.shouldRetryExecution();
  }

  should_retry_code_generation(): boolean {
    return this.shouldRetryCodeGeneration();
  }

  get_user_message(): string {
    return this.getUserMessage();
  }
}

export class ContainerConnectivityError extends PythonExecutorError {
  readonly category = 'infrastructure';
  readonly host: string;
  readonly port: number;

  constructor(
    message: string,
    { host, port, ...facts }: FailureFacts & { readonly host: string; readonly port: number },
  ) {
    super(message, facts);
    this.host = host;
    this.port = port;
  }

  override getUserMessage(): string {
    return `The Jupyter server at ${this.host}:${this.port} cannot be reached. Start it, or set execution_method to "local".`;
  }
}

/** The local engine failed, not the code. */
export class EngineUnavailableError extends PythonExecutorError {
  readonly category = 'infrastructure';
}

/** The model cannot be reached or refuses to answer. A different prompt would not help. */
export class ModelUnavailableError extends PythonExecutorError {
  readonly category = 'infrastructure';
}

export class ContainerConfigurationError extends PythonExecutorError {
  readonly category = 'configuration';
}

/** The service was called or configured in a way that cannot work. */
export class ServiceConfigurationError extends PythonExecutorError {
  readonly category = 'configuration';
}

export class CodeGenerationError extends PythonExecutorError {
  readonly category = 'code_related';
  readonly generationAttempt: number;
  readonly errorChain: readonly string[];

  constructor(
    message: string,
    {
      generationAttempt,
      errorChain,
      ...facts
    }: FailureFacts & { readonly generationAttempt: number; readonly errorChain: readonly string[] },
  ) {
    super(message, facts);
    this.generationAttempt = generationAttempt;
    this.errorChain = errorChain;
  }
}

export class CodeSyntaxError extends PythonExecutorError {
  readonly category = 'code_related';
  readonly syntaxIssues: readonly string[];

  constructor(
    message: string,
    { syntaxIssues, ...facts }: FailureFacts & { readonly syntaxIssues: readonly string[] },
  ) {
    super(message, facts);
    this.syntaxIssues = syntaxIssues;
  }
}

export class CodeRuntimeError extends PythonExecutorError {
  readonly category = 'code_related';
  readonly tracebackInfo: string;
  readonly executionAttempt: number;

  constructor(
    message: string,
    {
      tracebackInfo,
      executionAttempt,
      ...facts
    }: FailureFacts & { readonly tracebackInfo: string; readonly executionAttempt: number },
  ) {
    super(message, facts);
    this.tracebackInfo = tracebackInfo;
    this.executionAttempt = executionAttempt;
  }
}

/** The run succeeded, but `results` is not what the request expects. */
export class ResultsInvalidError extends PythonExecutorError {
  readonly category = 'code_related';
}

export class ExecutionTimeoutError extends PythonExecutorError {
  readonly category = 'workflow';
  readonly timeoutSeconds: number;

  constructor(message: string, { timeoutSeconds, ...facts }: FailureFacts & { readonly timeoutSeconds: number }) {
    super(message, facts);
    this.timeoutSeconds = timeoutSeconds;
  }
}

/** The code wanted to write a value that the limits of its channel forbid. Other code must not find a way around that. */
export class ChannelLimitsViolationError extends PythonExecutorError {
  readonly category = 'workflow';
  readonly violationType: string;

  constructor(message: string, { violationType, ...facts }: FailureFacts & { readonly violationType: string }) {
    super(message, facts);
    this.violationType = violationType;
  }

  /** Same as `violationType`, in the spelling of the reference. */
  get violation_type(): string {
    return this.violationType;
  }
}

/** The policy refuses the code. Different code may pass, unless a person wrote this code. */
export class PolicyRefusedError extends PythonExecutorError {
  readonly category: 'code_related' | 'workflow';
  readonly reasons: readonly string[];
  readonly isFinal: boolean;

  constructor(
    message: string,
    {
      reasons,
      isFinal = false,
      ...facts
    }: FailureFacts & { readonly reasons: readonly string[]; readonly isFinal?: boolean },
  ) {
    super(message, facts);
    this.reasons = reasons;
    this.isFinal = isFinal;
    this.category = isFinal ? 'workflow' : 'code_related';
  }
}

/** The code waits for an approval, and the caller has no graph that could be interrupted to ask for it. */
export class ApprovalRequiredError extends PythonExecutorError {
  readonly category = 'workflow';
  readonly approvalId: string;
  /** What a reviewer is shown: `user_message` and `resume_payload`. */
  readonly payload: Json;

  constructor(
    message: string,
    { approvalId, payload, ...facts }: FailureFacts & { readonly approvalId: string; readonly payload: Json },
  ) {
    super(message, facts);
    this.approvalId = approvalId;
    this.payload = payload;
  }
}

/** A reviewer rejected the code. */
export class ExecutionRejectedError extends PythonExecutorError {
  readonly category = 'workflow';
  readonly rejectedBy: string;
  readonly reason: string | null;

  constructor(
    message: string,
    { rejectedBy, reason, ...facts }: FailureFacts & { readonly rejectedBy: string; readonly reason: string | null },
  ) {
    super(message, facts);
    this.rejectedBy = rejectedBy;
    this.reason = reason;
  }
}

export class MaxAttemptsExceededError extends PythonExecutorError {
  readonly category = 'workflow';
  readonly operationType: string;
  readonly maxAttempts: number;
  readonly errorChain: readonly string[];

  constructor(
    message: string,
    {
      operationType,
      maxAttempts,
      errorChain,
      ...facts
    }: FailureFacts & {
      readonly operationType: string;
      readonly maxAttempts: number;
      readonly errorChain: readonly string[];
    },
  ) {
    super(message, facts);
    this.operationType = operationType;
    this.maxAttempts = maxAttempts;
    this.errorChain = errorChain;
  }
}

export class WorkflowError extends PythonExecutorError {
  readonly category = 'workflow';
  readonly stage: string;

  constructor(message: string, { stage, ...facts }: FailureFacts & { readonly stage: string }) {
    super(message, facts);
    this.stage = stage;
  }
}
