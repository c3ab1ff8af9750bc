import type { Json } from '../../execution/execution.ts';
import type { Facts } from '../analysis/facts.ts';
import type { CodeFinding } from '../analysis/finding.ts';
import type { Configuration } from '../config/schema.ts';
import type { ExecutionPolicyDecision } from './decision.ts';
import type { RiskLevel } from '../analysis/finding.ts';

/** What domain analyzers see. */
export interface AnalyzedCode {
  readonly code: string;
  readonly facts: Facts;
  /** The findings so far. */
  readonly findings: readonly CodeFinding[];
  readonly configuration: Configuration;
}

/** What the code would do in its domain, such as a control system. */
export interface DomainAnalysis {
  /** Such as `epics_writes` and `epics_reads`. */
  readonly detectedOperations: readonly string[];
  readonly riskCategories: readonly string[];
  readonly findings: readonly CodeFinding[];
  readonly domainData: Readonly<Record<string, Json>>;
}

/** Knows what calls mean in a domain. The findings of all domain analyzers are combined. */
export interface DomainAnalyzer {
  readonly name: string;
  analyze(subject: AnalyzedCode): DomainAnalysis | Promise<DomainAnalysis>;
}

/** What policies see. */
export interface PolicySubject extends AnalyzedCode {
  readonly domain: DomainAnalysis;
  readonly riskLevel: RiskLevel;
}

/** Decides what may run. Returning undefined leaves the decision to the next policy. */
export interface PolicyAnalyzer {
  readonly name: string;
  decide(subject: PolicySubject): ExecutionPolicyDecision | undefined | Promise<ExecutionPolicyDecision | undefined>;
}

const BUILT_IN_PRIORITY = 100;
const REGISTERED_PRIORITY = 50;

interface RegisteredAnalyzer<T> {
  readonly analyzer: T;
  readonly priority: number;
}

/** Analyzers by priority, lowest first. Registering a name again replaces the earlier analyzer. */
export class AnalyzerRegistry<T extends { readonly name: string }> {
  readonly #entries: Map<string, RegisteredAnalyzer<T>>;

  constructor(builtIn: readonly T[]) {
    this.#entries = new Map(
      builtIn.map((analyzer) => [analyzer.name, { analyzer, priority: BUILT_IN_PRIORITY }] as const),
    );
  }

  register(analyzer: T, { priority = REGISTERED_PRIORITY }: { readonly priority?: number } = {}): void {
    this.#entries.set(analyzer.name, { analyzer, priority });
  }

  inOrder(): T[] {
    return [...this.#entries.values()]
      .toSorted((one, other) => one.priority - other.priority)
      .map(({ analyzer }) => analyzer);
  }
}
