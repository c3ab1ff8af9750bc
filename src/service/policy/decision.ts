import type { Json } from '../../execution/execution.ts';
import type { Configuration, ExecutionMode } from '../config/schema.ts';

/** The decision about code: it runs, a reviewer is asked first, or it is refused. */
export type Judgement = 'run' | 'ask' | 'refuse';

/** What a policy decides about code. */
export interface ExecutionPolicyDecision {
  readonly executionMode: ExecutionMode;
  readonly needsApproval: boolean;
  /** Why approval is needed, or why not. */
  readonly approvalReasoning: string;
  /** Issues in addition to those of the analysis. */
  readonly additionalIssues: readonly string[];
  readonly recommendations: readonly string[];
  /** False: the code is refused without asking anybody. */
  readonly analysisPassed: boolean;
  readonly additionalContext: Readonly<Record<string, Json>>;
}

export function decisionOf({ analysisPassed, needsApproval }: ExecutionPolicyDecision): Judgement {
  if (!analysisPassed) return 'refuse';
  return needsApproval ? 'ask' : 'run';
}

/** A refusal. The reason becomes an issue, unless `issues` says otherwise. */
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

/** The configuration key that forbids writing, if any. */
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
 * Enforces what no policy can override: code gets write access only if the configuration allows it, and a mode that requires
 * approval always needs it, unless approval is disabled globally.
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
