import type { Json } from '../../execution/execution.ts';
import type { Configuration, ExecutionMode } from '../config/schema.ts';

/** What is to become of code: it runs, somebody is asked first, or it does not run. */
export type Judgement = 'run' | 'ask' | 'refuse';

/** What a policy says of code. */
export interface ExecutionPolicyDecision {
  readonly executionMode: ExecutionMode;
  readonly needsApproval: boolean;
  /** Why it is asked about, or why not. */
  readonly approvalReasoning: string;
  /** What the policy adds to the issues that analysis found. */
  readonly additionalIssues: readonly string[];
  readonly recommendations: readonly string[];
  /** False: the code does not run, and nobody is asked. */
  readonly analysisPassed: boolean;
  readonly additionalContext: Readonly<Record<string, Json>>;
}

export function decisionOf({ analysisPassed, needsApproval }: ExecutionPolicyDecision): Judgement {
  if (!analysisPassed) return 'refuse';
  return needsApproval ? 'ask' : 'run';
}

/** A refusal: the reason is an issue of its own unless analysis has said it already. */
export function refusal(
  reason: string,
  { issues = [reason], recommendations = [] }: { issues?: readonly string[]; recommendations?: readonly string[] } = {},
): ExecutionPolicyDecision {
  return {
    executionMode: 'read_only',
    needsApproval: false,
    approvalReasoning: reason,
    additionalIssues: issues,
    recommendations,
    analysisPassed: false,
    additionalContext: {},
  };
}

const WRITES_BLOCKED = 'EPICS writes blocked by configuration';

/** The key that forbids writing, if one does. */
export function writeBlock({ execution_control, control_system, framework }: Configuration): string | undefined {
  if (!control_system.writes_enabled) return 'control_system.writes_enabled';
  if (!execution_control.epics.writes_enabled) return 'execution_control.epics.writes_enabled';
  if (!framework.execution.modes.write_access.allows_writes) {
    return 'framework.execution.modes.write_access.allows_writes';
  }
  return undefined;
}

export function writesRefused(key: string): ExecutionPolicyDecision {
  return refusal(WRITES_BLOCKED, {
    recommendations: [`Change the code so that it only reads, or have an operator set ${key} to true`],
  });
}

/**
 * What no policy can change: code that may not write gets no write access, and a mode that requires approval is asked about
 * unless approval is off for everything.
 */
export function withinConfiguration(
  decision: ExecutionPolicyDecision,
  configuration: Configuration,
): ExecutionPolicyDecision {
  const { executionMode } = decision;
  if (!decision.analysisPassed) return decision;
  const block = executionMode === 'write_access' ? writeBlock(configuration) : undefined;
  if (block !== undefined) return writesRefused(block);
  const isRequired = configuration.framework.execution.modes[executionMode].requires_approval;
  if (!isRequired || configuration.approval.global_mode === 'disabled') return decision;
  const reason = `Execution mode ${executionMode} requires approval`;
  const approvalReasoning = decision.needsApproval ? `${decision.approvalReasoning}; ${reason}` : reason;
  return { ...decision, needsApproval: true, approvalReasoning };
}
