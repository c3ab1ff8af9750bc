import { refusal, writeBlock, writesRefused, type ExecutionPolicyDecision } from './decision.ts';
import { highRisks } from '../analysis/finding.ts';
import type { PolicyAnalyzer, PolicySubject } from './analyzers.ts';
import type { Configuration } from '../config/schema.ts';

const SHOWN_RISKS = 3;

/** Decides by the findings and the configuration. It always makes a decision. */
export const DEFAULT_POLICY: PolicyAnalyzer = { name: 'default', decide };

function decide({ findings, domain, configuration }: PolicySubject): ExecutionPolicyDecision {
  if (findings.some(({ kind }) => kind === 'syntax')) {
    return refusal('Code that is not valid Python does not run', { issues: [] });
  }
  const hasWrites = domain.detectedOperations.includes('epics_writes');
  const block = hasWrites ? writeBlock(configuration) : undefined;
  if (block !== undefined) return writesRefused(block);
  const { needsApproval, reasoning } = evaluateApproval(effectiveApproval(configuration.approval), hasWrites);
  const risks = highRisks(findings);
  const isAskedForRisk = risks.length > 0 && configuration.approval.global_mode !== 'disabled';
  const reasons = [
    ...(needsApproval || !isAskedForRisk ? [reasoning] : []),
    ...(isAskedForRisk ? ['Code is of high security risk'] : []),
  ];
  return {
    executionMode: hasWrites ? 'write_access' : 'read_only',
    needsApproval: needsApproval || isAskedForRisk,
    approvalReasoning: reasons.join('; '),
    additionalIssues: [],
    recommendations:
      risks.length > 0 ? ['Use the functions of Python libraries rather than what is named as a risk'] : [],
    analysisPassed: true,
    additionalContext: risks.length > 0 ? { risks: risks.slice(0, SHOWN_RISKS).map(({ message }) => message) } : {},
  };
}

/** Whether code needs approval, and why. */
export interface ApprovalEvaluation {
  readonly needsApproval: boolean;
  readonly reasoning: string;
}

/** The capability's approval settings after the global mode is applied. */
export interface EffectiveApproval {
  readonly enabled: boolean;
  /** A mode of the configuration. Any other value means that approval is needed. */
  readonly mode: string;
}

/** `disabled` turns approval off, `all_capabilities` turns it on for all code. */
function effectiveApproval({ global_mode, capabilities }: Configuration['approval']): EffectiveApproval {
  switch (global_mode) {
    case 'disabled':
      return { enabled: false, mode: 'disabled' };
    case 'all_capabilities':
      return { enabled: true, mode: 'all_code' };
    case 'selective':
      return capabilities.python_execution;
  }
}

export function evaluateApproval({ enabled, mode }: EffectiveApproval, hasWrites: boolean): ApprovalEvaluation {
  if (!enabled) return { needsApproval: false, reasoning: 'Python execution approval is disabled' };
  switch (mode) {
    case 'disabled':
      return { needsApproval: false, reasoning: 'Approval mode is disabled' };
    case 'all_code':
      return { needsApproval: true, reasoning: 'All code requires approval' };
    case 'epics_writes':
    case 'control_writes':
      return hasWrites
        ? { needsApproval: true, reasoning: 'Code contains EPICS write operations' }
        : { needsApproval: false, reasoning: 'Code contains no EPICS writes (read-only or pure Python)' };
    default:
      return { needsApproval: true, reasoning: `Unknown approval mode: ${mode}` };
  }
}

/** The approval settings and their effect, for display. */
export function approvalSummary({ approval }: Configuration): Readonly<Record<string, unknown>> {
  const { python_execution } = approval.capabilities;
  return { global_mode: approval.global_mode, python_execution, effective: effectiveApproval(approval) };
}
