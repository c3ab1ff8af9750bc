import { controlPatterns } from '../analysis/control-systems.ts';
import { shownName, type CodeFinding } from '../analysis/finding.ts';
import type { Facts, Use } from '../analysis/facts.ts';
import { PatternSet, type Match } from '../analysis/patterns.ts';
import type { DomainAnalysis, DomainAnalyzer, AnalyzedCode } from './analyzers.ts';

/** Finds reads from and writes to control systems, by the configured names. */
export const CONTROL_DOMAIN: DomainAnalyzer = { name: 'control-system', analyze };

function analyze({ facts, configuration }: AnalyzedCode): DomainAnalysis {
  const { write, read } = controlPatterns(configuration.control_system.patterns);
  const writePatterns = new PatternSet(write);
  const readPatterns = new PatternSet(read);
  const roots = rootsOf(facts);
  const writes = facts.uses.flatMap((use) => findingFor(use, writePatterns.match(use, roots), WRITE));
  const reads = facts.uses
    .filter((use) => readPatterns.match(use, roots) === 'certain') // many unrelated classes have a `get`
    .flatMap((use) => findingFor(use, 'certain', READ));
  return {
    detectedOperations: [...(writes.length > 0 ? ['epics_writes'] : []), ...(reads.length > 0 ? ['epics_reads'] : [])],
    riskCategories: writes.length > 0 ? ['accelerator_control'] : [],
    findings: [...writes, ...reads],
    domainData: {
      writes: namesIn(writes),
      reads: namesIn(reads),
    },
  };
}

const SHOWN_NAMES = 50;

function namesIn(findings: readonly CodeFinding[]): (string | null)[] {
  return [...new Set(findings.map(({ name }) => name))].slice(0, SHOWN_NAMES);
}

const WRITE = {
  kind: 'domain-write',
  rule: 'writes-control-system',
  severity: 'warning',
  says: 'writes to the control system',
} as const;
const READ = {
  kind: 'domain-read',
  rule: 'reads-control-system',
  severity: 'info',
  says: 'reads from the control system',
} as const;

function findingFor(
  { name, line, how }: Use,
  match: Match | undefined,
  { kind, rule, severity, says }: typeof WRITE | typeof READ,
): CodeFinding[] {
  if (match === undefined) return [];
  const call = `${shownName(name)}${how === 'called' ? '()' : how === 'stored' ? ' =' : ''}`;
  const verb = match === 'certain' ? says : 'may write to the control system';
  const message = `${severity === 'warning' ? 'Warning' : 'Note'}: ${call} ${verb}`;
  return [{ kind, rule, severity, line, message, name }];
}

/** The libraries that the code imports, with `?` for an unknown one. */
function rootsOf({ imports, dynamic }: Facts): ReadonlySet<string> {
  const roots = imports.map(({ name }) => name.split('.')[0] ?? '');
  return new Set([...roots, ...(dynamic.some(({ name }) => name === 'import') ? ['?'] : [])]);
}
