import type { Configuration } from '../config/schema.ts';

/** Whether code is to be asked about, and why or why not. */
export interface ApprovalEvaluation {
  readonly needsApproval: boolean;
  readonly reasoning: string;
}

/** What the capability asks about when the global mode has had its say. */
export interface EffectiveApproval {
  readonly enabled: boolean;
  /** One of the modes of the configuration; anything else means asking. */
  readonly mode: string;
}

/** `disabled` forces asking off, `all_capabilities` forces it on for all code. */
export function effectiveApproval({ global_mode, capabilities }: Configuration['approval']): EffectiveApproval {
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

/** The settings of approval and what comes of them, for people to look at. */
export function approvalSummary({ approval }: Configuration): Readonly<Record<string, unknown>> {
  const { python_execution } = approval.capabilities;
  return { global_mode: approval.global_mode, python_execution, effective: effectiveApproval(approval) };
}
