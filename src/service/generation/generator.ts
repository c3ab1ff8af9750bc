import type { PythonExecutionRequest } from '../api/request.ts';

/** Generates the code for a request. */
export interface CodeGenerator {
  /** Returns code that is ready to run. `errorChain` has the earlier failures, oldest first. */
  generateCode(
    request: PythonExecutionRequest,
    errorChain: readonly ExecutionFailure[],
    options?: GenerateOptions,
  ): Promise<string>;
}

export interface GenerateOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with each part of the model's answer as it arrives. */
  readonly onToken?: ((token: string) => void) | undefined;
  /** Where the code will run. */
  readonly sandbox?: SandboxFacts | undefined;
}

/** What code can rely on where it runs. Prompts omit what is unknown. */
export interface SandboxFacts {
  readonly pythonVersion?: string;
  readonly libraries?: readonly string[];
  readonly hasNetwork?: boolean;
  /** The only hosts that code reaches, written as in `network.allow`. */
  readonly hosts?: readonly string[];
  readonly timeoutSeconds?: number;
  /** Files in the current directory. */
  readonly files?: readonly { readonly name: string; readonly sizeBytes: number }[];
}

/** Why an attempt failed, in a form that checkpoints can store and prompts can show. */
export interface ExecutionFailure {
  readonly errorType: string;
  readonly errorMessage: string;
  /** Null if there was no code. */
  readonly failedCode: string | null;
  readonly traceback: string | null;
  readonly attemptNumber: number;
  readonly stage: FailureStage;
  readonly analysisIssues: readonly string[];
}

export type FailureStage = 'generation' | 'analysis' | 'approval' | 'execution' | 'results';

const MAX_SUMMARY_CHARS = 300;

/** One line for logs and for the `errorChain` of errors. */
export function summarizeFailure({ attemptNumber, stage, errorType, errorMessage }: ExecutionFailure): string {
  const line = `Attempt ${attemptNumber}, ${stage}: ${errorType}: ${errorMessage}`.replaceAll(/\s+/g, ' ');
  return line.length > MAX_SUMMARY_CHARS ? `${line.slice(0, MAX_SUMMARY_CHARS)}…` : line;
}
