import type { Finding, FindingKind } from './finding.ts';

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
export function securityRiskLevel(findings: readonly Finding[]): RiskLevel {
  const severities = new Set(findings.filter(({ kind }) => RISKY.has(kind)).map(({ severity }) => severity));
  if (severities.has('error')) return 'high';
  return severities.has('warning') ? 'medium' : 'low';
}

/** What makes the risk high. */
export function highRisks(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ kind, severity }) => severity === 'error' && RISKY.has(kind));
}
