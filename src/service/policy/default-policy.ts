import { effectiveApproval, evaluateApproval } from './evaluator.ts';
import { refusal, writeBlock, writesRefused, type ExecutionPolicyDecision } from './decision.ts';
import { highRisks } from '../analysis/risk.ts';
import type { PolicyAnalyzer, PolicySubject } from './analyzers.ts';

const SHOWN_RISKS = 3;

/** Decides by what was found and what the configuration says. It always has an opinion. */
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
