import type { PythonExecutionRequest } from '../api/request.ts';

/** Writes the code for a request. */
export interface CodeGenerator {
  /** Gives code as it is to run. `errorChain` has what went wrong before, oldest first. */
  generateCode(
    request: PythonExecutionRequest,
    errorChain: readonly ExecutionFailure[],
    options?: GenerateOptions,
  ): Promise<string>;
}

export interface GenerateOptions {
  readonly signal?: AbortSignal | undefined;
  /** Hears the answer of a model while it is written. */
  readonly onToken?: ((token: string) => void) | undefined;
  /** Where the code will run. */
  readonly sandbox?: SandboxFacts | undefined;
}

/** What code can count on where it runs; a generator says nothing of what is not known. */
export interface SandboxFacts {
  readonly pythonVersion?: string;
  readonly libraries?: readonly string[];
  readonly hasNetwork?: boolean;
  readonly timeoutSeconds?: number;
  /** In the current directory. */
  readonly files?: readonly { readonly name: string; readonly sizeBytes: number }[];
}

/** Why an attempt failed, in a form that a checkpoint can keep and the next generation can learn from. */
export interface ExecutionFailure {
  readonly errorType: string;
  readonly errorMessage: string;
  /** Null when there was no code. */
  readonly failedCode: string | null;
  readonly traceback: string | null;
  readonly attemptNumber: number;
  readonly stage: FailureStage;
  readonly analysisIssues: readonly string[];
}

export type FailureStage = 'generation' | 'analysis' | 'approval' | 'execution' | 'results';

const MAX_SUMMARY_CHARS = 300;

/** One line for logs and for the chains that errors carry. */
export function summarizeFailure({ attemptNumber, stage, errorType, errorMessage }: ExecutionFailure): string {
  const line = `Attempt ${attemptNumber}, ${stage}: ${errorType}: ${errorMessage}`.replaceAll(/\s+/g, ' ');
  return line.length > MAX_SUMMARY_CHARS ? `${line.slice(0, MAX_SUMMARY_CHARS)}…` : line;
}
