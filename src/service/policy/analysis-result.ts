import type { Json } from '../../execution/execution.ts';
import {
  highestSeverity,
  type CodeFinding,
  type FindingKind,
  type RiskLevel,
  type Severity,
} from '../analysis/finding.ts';
import type { ExecutionMode, ModeConfiguration } from '../config/schema.ts';
import type { PolicySubject } from './analyzers.ts';
import { decisionOf, type Judgement, type ExecutionPolicyDecision } from './decision.ts';

/** Everything known about code before it runs, and the decision about it. */
export interface AnalysisResult {
  readonly decision: Judgement;
  /** False: the code is refused without asking anybody. */
  readonly passed: boolean;
  readonly issues: readonly string[];
  readonly recommendations: readonly string[];
  readonly severity: Severity;
  readonly securityRiskLevel: RiskLevel;
  readonly hasEpicsWrites: boolean;
  readonly hasEpicsReads: boolean;
  readonly recommendedExecutionMode: ExecutionMode;
  readonly needsApproval: boolean;
  readonly approvalReasoning: string;
  readonly executionModeConfig: ModeConfiguration;
  readonly findings: readonly CodeFinding[];
  readonly detectedOperations: readonly string[];
  readonly riskCategories: readonly string[];
  readonly domainData: Readonly<Record<string, Json>>;
  readonly additionalContext: Readonly<Record<string, Json>>;
}

/** What analysis and policy decided about the code, as checkpoints keep it. */
export interface Verdict {
  readonly mode: ExecutionMode;
  readonly warnings: readonly string[];
  /** As the reviewer sees it. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly reasoning: string;
  /** Kinds of findings that an approval of this code permits. */
  readonly approvedKinds: readonly FindingKind[];
}

/** `concerns` come first: reviewers must read them whatever the code is. */
export function verdictOf(result: AnalysisResult, concerns: readonly string[]): Verdict {
  return {
    mode: result.recommendedExecutionMode,
    warnings: [...concerns, ...result.issues, ...result.recommendations],
    details: toWire(result),
    reasoning: result.approvalReasoning,
    approvedKinds: [...new Set(result.findings.map(({ kind }) => kind))],
  };
}

export function analysisResult(subject: PolicySubject, policy: ExecutionPolicyDecision): AnalysisResult {
  const { findings, domain, riskLevel, configuration } = subject;
  const noted = findings.filter(({ severity }) => severity !== 'info').map(({ message }) => message);
  return {
    decision: decisionOf(policy),
    passed: policy.analysisPassed,
    issues: [...new Set([...noted, ...policy.additionalIssues])],
    recommendations: [...new Set([...advice(findings), ...policy.recommendations])],
    severity: policy.analysisPassed ? highestSeverity(findings) : 'error',
    securityRiskLevel: riskLevel,
    hasEpicsWrites: domain.detectedOperations.includes('epics_writes'),
    hasEpicsReads: domain.detectedOperations.includes('epics_reads'),
    recommendedExecutionMode: policy.executionMode,
    needsApproval: decisionOf(policy) === 'ask',
    approvalReasoning: policy.approvalReasoning,
    executionModeConfig: configuration.framework.execution.modes[policy.executionMode],
    findings,
    detectedOperations: domain.detectedOperations,
    riskCategories: domain.riskCategories,
    domainData: domain.domainData,
    additionalContext: policy.additionalContext,
  };
}

/** The result as JSON. It leaves out the mode's environment variables, which may be secret. */
export function toWire(result: AnalysisResult): { readonly [key: string]: Json } {
  const { kernel_name, allows_writes, requires_approval } = result.executionModeConfig;
  return {
    decision: result.decision,
    passed: result.passed,
    issues: result.issues,
    recommendations: result.recommendations,
    severity: result.severity,
    security_risk_level: result.securityRiskLevel,
    has_epics_writes: result.hasEpicsWrites,
    has_epics_reads: result.hasEpicsReads,
    recommended_execution_mode: result.recommendedExecutionMode,
    needs_approval: result.needsApproval,
    approval_reasoning: result.approvalReasoning,
    execution_mode_config: { kernel_name, allows_writes, requires_approval },
    findings: result.findings.map((finding) => ({ ...finding })),
    detected_operations: result.detectedOperations,
    risk_categories: result.riskCategories,
    domain_data: result.domainData,
    additional_context: result.additionalContext,
  };
}

function advice(findings: readonly CodeFinding[]): string[] {
  const kinds = new Set(findings.map(({ kind }) => kind));
  return [
    ...(kinds.has('syntax') ? ['Write plain Python that compiles'] : []),
    ...(kinds.has('result-structure') ? ['Store outputs in a dictionary named results'] : []),
    ...(kinds.has('network') ? ['Sessions have no network unless the configuration allows it'] : []),
  ];
}
