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

/** Something that analysis noticed in code. */
export interface CodeFinding {
  readonly kind: FindingKind;
  /** The rule that found it, such as `starts-process`. */
  readonly rule: string;
  readonly severity: Severity;
  readonly line: number | null;
  readonly message: string;
  /** The name in question as Python resolves it. */
  readonly name: string | null;
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 };
const MAX_FINDINGS = 200;

/** Each thing once, where it stands first; the gravest are kept when there are too many, and lines are in order. */
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

/** The gravest severity among findings. */
export function gravest(findings: readonly CodeFinding[]): Severity {
  return findings.reduce<Severity>((worst, { severity }) => (RANK[severity] < RANK[worst] ? severity : worst), 'info');
}

/** A resolved name as people write it: `open` for `builtins.open`, `.put` for a member of something unknown. */
export function shownName(name: string): string {
  return name.replace(/^builtins\./u, '').replace(/^\?(?=\.)/u, '');
}

export type RiskLevel = 'low' | 'medium' | 'high';

/** Kinds that say how dangerous code is, whatever it is for. */
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

/** How dangerous code is, by what was found and not by the words of a message. */
export function securityRiskLevel(findings: readonly CodeFinding[]): RiskLevel {
  const severities = new Set(findings.filter(({ kind }) => RISKY.has(kind)).map(({ severity }) => severity));
  if (severities.has('error')) return 'high';
  return severities.has('warning') ? 'medium' : 'low';
}

/** What makes the risk high. */
export function highRisks(findings: readonly CodeFinding[]): CodeFinding[] {
  return findings.filter(({ kind, severity }) => severity === 'error' && RISKY.has(kind));
}
