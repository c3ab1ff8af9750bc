import { controlPatterns } from '../analysis/control-systems.ts';
import { shownName, type Finding } from '../analysis/finding.ts';
import type { Facts, Use } from '../analysis/facts.ts';
import { Pattern, type Match } from '../analysis/patterns.ts';
import type { DomainAnalysis, DomainAnalyzer, Subject } from './analyzers.ts';

/** Finds what reads from and writes to control systems, by the configured names. */
export const CONTROL_DOMAIN: DomainAnalyzer = { name: 'control-system', analyze };

function analyze({ facts, configuration }: Subject): DomainAnalysis {
  const { write, read } = controlPatterns(configuration.control_system.patterns);
  const writePatterns = write.map((text) => new Pattern(text));
  const readPatterns = read.map((text) => new Pattern(text));
  const roots = rootsOf(facts);
  const writes = facts.uses.flatMap((use) => findingFor(use, matchOf(use, writePatterns, roots), WRITE));
  const reads = facts.uses
    .filter((use) => matchOf(use, readPatterns, roots) === 'certain') // `get` is a method of everything
    .flatMap((use) => findingFor(use, 'certain', READ));
  return {
    detectedOperations: [...(writes.length > 0 ? ['epics_writes'] : []), ...(reads.length > 0 ? ['epics_reads'] : [])],
    riskCategories: writes.length > 0 ? ['accelerator_control'] : [],
    findings: [...writes, ...reads],
    domainData: {
      writes: writes.map(({ name }) => name),
      reads: reads.map(({ name }) => name),
    },
  };
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

function matchOf(use: Use, patterns: readonly Pattern[], roots: ReadonlySet<string>): Match | undefined {
  const matches = patterns.map((pattern) => pattern.match(use, roots));
  return matches.includes('certain') ? 'certain' : matches.find((match) => match !== undefined);
}

function findingFor(
  { name, line, how }: Use,
  match: Match | undefined,
  { kind, rule, severity, says }: typeof WRITE | typeof READ,
): Finding[] {
  if (match === undefined) return [];
  const call = `${shownName(name)}${how === 'called' ? '()' : how === 'stored' ? ' =' : ''}`;
  const verb = match === 'certain' ? says : 'may write to the control system';
  const message = `${severity === 'warning' ? 'Warning' : 'Note'}: ${call} ${verb}`;
  return [{ kind, rule, severity, line, message, name }];
}

/** Libraries that the code imports; `?` when one of them is not known. */
function rootsOf({ imports, dynamic }: Facts): ReadonlySet<string> {
  const roots = imports.map(({ name }) => name.split('.')[0] ?? '');
  return new Set([...roots, ...(dynamic.some(({ name }) => name === 'import') ? ['?'] : [])]);
}
