import type { Json } from '../../execution/execution.ts';
import type { Facts } from '../analysis/facts.ts';
import type { CodeFinding } from '../analysis/finding.ts';
import type { Configuration } from '../config/schema.ts';
import type { ExecutionPolicyDecision } from './decision.ts';
import type { RiskLevel } from '../analysis/finding.ts';

/** What analyzers are shown. */
export interface AnalyzedCode {
  readonly code: string;
  readonly facts: Facts;
  /** What was found so far. */
  readonly findings: readonly CodeFinding[];
  readonly configuration: Configuration;
}

/** What code would do in the world that it is written for. */
export interface DomainAnalysis {
  /** Such as `epics_writes` and `epics_reads`. */
  readonly detectedOperations: readonly string[];
  readonly riskCategories: readonly string[];
  readonly findings: readonly CodeFinding[];
  readonly domainData: Readonly<Record<string, Json>>;
}

/** Knows what calls mean in some domain. All of them are asked, and what they find is put together. */
export interface DomainAnalyzer {
  readonly name: string;
  analyze(subject: AnalyzedCode): DomainAnalysis | Promise<DomainAnalysis>;
}

/** What a policy decides on. */
export interface PolicySubject extends AnalyzedCode {
  readonly domain: DomainAnalysis;
  readonly riskLevel: RiskLevel;
}

/** Decides what may run. The first one with an opinion decides; undefined leaves it to the next. */
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

/** Analyzers by priority, lower first. One that is registered under a name in use takes its place. */
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
