/** What a finding is about. */
export type FindingKind =
  | 'syntax'
  | 'code-execution'
  | 'process'
  | 'native-code'
  | 'introspection'
  | 'import'
  | 'dynamic'
  | 'file-write'
  | 'file-removal'
  | 'network'
  | 'domain-write'
  | 'domain-read'
  | 'result-structure'
  | 'analyzer';

export type Severity = 'info' | 'warning' | 'error';

/** Something that the analysis found in the code. */
export interface CodeFinding {
  readonly kind: FindingKind;
  /** The rule that found it, such as `starts-process`. */
  readonly rule: string;
  readonly severity: Severity;
  readonly line: number | null;
  readonly message: string;
  /** The name that it is about, as Python resolves it. */
  readonly name: string | null;
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 };
const MAX_FINDINGS = 200;

/** Removes duplicates and sorts by line. If there are too many findings, the most severe are kept. */
export function tidy(findings: readonly CodeFinding[]): CodeFinding[] {
  const first = new Map<string, CodeFinding>();
  for (const finding of findings) {
    const key = JSON.stringify([finding.rule, finding.name, finding.message]);
    if (!first.has(key)) first.set(key, finding);
  }
  return [...first.values()]
    .toSorted((one, other) => RANK[one.severity] - RANK[other.severity])
    .slice(0, MAX_FINDINGS)
    .toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
}

/** The highest severity among findings. */
export function highestSeverity(findings: readonly CodeFinding[]): Severity {
  return findings.reduce<Severity>((worst, { severity }) => (RANK[severity] < RANK[worst] ? severity : worst), 'info');
}

/** A resolved name as people write it: `open` for `builtins.open`, `.put` for a member of an unknown object. */
export function shownName(name: string): string {
  return name.replace(/^builtins\./u, '').replace(/^\?(?=\.)/u, '');
}

export type RiskLevel = 'low' | 'medium' | 'high';

/** Kinds of findings that make code risky. */
const RISKY: ReadonlySet<FindingKind> = new Set([
  'code-execution',
  'process',
  'native-code',
  'introspection',
  'import',
  'dynamic',
  'file-write',
  'file-removal',
  'network',
]);

/** How risky the code is, by kind and severity of its findings. */
export function securityRiskLevel(findings: readonly CodeFinding[]): RiskLevel {
  const severities = new Set(findings.filter(({ kind }) => RISKY.has(kind)).map(({ severity }) => severity));
  if (severities.has('error')) return 'high';
  return severities.has('warning') ? 'medium' : 'low';
}

/** The findings that make the risk high. */
export function highRisks(findings: readonly CodeFinding[]): CodeFinding[] {
  return findings.filter(({ kind, severity }) => severity === 'error' && RISKY.has(kind));
}
