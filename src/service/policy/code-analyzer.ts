import type { Examiner } from '../analysis/examine.ts';
import { tidy, type CodeFinding } from '../analysis/finding.ts';
import { securityFindings } from '../analysis/security.ts';
import type { Configuration } from '../config/schema.ts';
import { analysisResult, type AnalysisResult } from './analysis-result.ts';
import {
  AnalyzerRegistry,
  type DomainAnalysis,
  type DomainAnalyzer,
  type PolicyAnalyzer,
  type PolicySubject,
  type AnalyzedCode,
} from './analyzers.ts';
import { CONTROL_DOMAIN } from './control-domain.ts';
import { refusal, withinConfiguration, type ExecutionPolicyDecision } from './decision.ts';
import { DEFAULT_POLICY } from './default-policy.ts';
import { securityRiskLevel } from '../analysis/finding.ts';

/** Analyzes code and decides about it. Custom analyzers can be registered in addition to the built-in ones. */
export class CodeAnalyzer {
  readonly domains = new AnalyzerRegistry<DomainAnalyzer>([CONTROL_DOMAIN]);
  readonly policies = new AnalyzerRegistry<PolicyAnalyzer>([DEFAULT_POLICY]);
  readonly #examiner: Pick<Examiner, 'examine'>;

  constructor(examiner: Pick<Examiner, 'examine'>) {
    this.#examiner = examiner;
  }

  async analyze(
    code: string,
    configuration: Configuration,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<AnalysisResult> {
    const facts = await this.#examiner.examine(code, options);
    const subject: AnalyzedCode = { code, facts, findings: tidy(securityFindings(facts)), configuration };
    const domain = await this.#analyzeDomain(subject);
    const findings = tidy([...subject.findings, ...domain.findings]);
    const whole: PolicySubject = { ...subject, findings, domain, riskLevel: securityRiskLevel(findings) };
    return analysisResult(whole, await this.#decide(whole));
  }

  async #analyzeDomain(subject: AnalyzedCode): Promise<DomainAnalysis> {
    const found: DomainAnalysis[] = [];
    for (const analyzer of this.domains.inOrder()) {
      try {
        found.push(await analyzer.analyze(subject));
      } catch (error) {
        found.push({ ...NOTHING, findings: [failure(`domain analyzer ${analyzer.name}`, error)] });
      }
    }
    return {
      detectedOperations: [...new Set(found.flatMap(({ detectedOperations }) => detectedOperations))],
      riskCategories: [...new Set(found.flatMap(({ riskCategories }) => riskCategories))],
      findings: found.flatMap(({ findings }) => findings),
      domainData: Object.assign(
        {},
        ...found.map(({ domainData }) => domainData).toReversed(),
      ) as DomainAnalysis['domainData'],
    };
  }

  /** Refuses code that cannot be analyzed. A policy cannot allow what the configuration forbids. */
  async #decide(subject: PolicySubject): Promise<ExecutionPolicyDecision> {
    const { findings, configuration } = subject;
    const failed = findings.find(({ kind }) => kind === 'analyzer');
    if (failed !== undefined) return refusal(failed.message, { issues: [] });
    const isValid = findings.every(({ kind }) => kind !== 'syntax');
    for (const policy of isValid ? this.policies.inOrder() : [DEFAULT_POLICY]) {
      try {
        const decision = await policy.decide(subject);
        if (decision !== undefined) return withinConfiguration(decision, configuration);
      } catch (error) {
        return refusal(failure(`policy analyzer ${policy.name}`, error).message);
      }
    }
    return refusal('Blocked: no policy decided about this code');
  }
}

const NOTHING: DomainAnalysis = { detectedOperations: [], riskCategories: [], findings: [], domainData: {} };

function failure(what: string, error: unknown): CodeFinding {
  const message = `Blocked: the ${what} failed: ${error instanceof Error ? error.message : String(error)}`;
  return { kind: 'analyzer', rule: 'analyzer-failed', severity: 'error', line: null, message, name: null };
}
