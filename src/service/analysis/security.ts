import type { Facts, Use } from './facts.ts';
import { shownName, type CodeFinding } from './finding.ts';
import {
  NAME_RULES,
  OPENERS,
  PROCESS_MODULES,
  PROCESS_STARTERS,
  PROHIBITED_IMPORTS,
  type NameRule,
} from './security-rules.ts';

/** Findings that apply to any code: syntax, imports, dangerous calls, files, network, results. */
export function securityFindings(facts: Facts): CodeFinding[] {
  if (facts.syntax.length > 0) return facts.syntax.map(syntaxFinding);
  return [
    ...facts.imports.flatMap(importFinding),
    ...facts.uses.flatMap((use) => [...nameFindings(use), ...openFindings(use), ...starterFindings(use, facts)]),
    ...facts.dynamic.map(dynamicFinding),
    ...resultFindings(facts),
    ...(facts.isTruncated ? [TRUNCATED] : []),
  ];
}

const TRUNCATED: CodeFinding = {
  kind: 'dynamic',
  rule: 'too-many-names',
  severity: 'error',
  line: null,
  message: 'Security risk: the code uses more names than can be analyzed, so the rest was not checked',
  name: null,
};

function syntaxFinding({ line, message }: Facts['syntax'][number]): CodeFinding {
  const where = line === null ? '' : ` at line ${line}`;
  return {
    kind: 'syntax',
    rule: 'syntax',
    severity: 'error',
    line,
    message: `Syntax error${where}: ${message}`,
    name: null,
  };
}

function importFinding({ name, line }: Facts['imports'][number]): CodeFinding[] {
  const isProhibited = PROHIBITED_IMPORTS.some((prohibited) => name === prohibited);
  if (!isProhibited) return [];
  const message = `Prohibited import detected: ${shownName(name)}`;
  // The import alone does nothing. What the code does with it has its own finding.
  return [{ kind: 'import', rule: 'prohibited-import', severity: 'warning', line, message, name }];
}

const RULES_BY_NAME: ReadonlyMap<string, NameRule> = new Map(
  NAME_RULES.flatMap((rule) => rule.names.map((name) => [name, rule] as const)),
);

function nameFindings({ name, how, line, bare }: Use): CodeFinding[] {
  if (how === 'stored') return [];
  const rule = ruleOf(name);
  if (rule === undefined || (rule.unlessBare === true && bare === true)) return [];
  const call = `${shownName(name)}${how === 'called' ? '()' : ''}`;
  const message = `${prefixOf(rule)}: ${call} ${rule.says}`;
  return [{ kind: rule.kind, rule: rule.rule, severity: rule.severity, line, message, name }];
}

/** The rule for the name itself, for its module, or for a member of that name on any object. */
function ruleOf(name: string): NameRule | undefined {
  const exact = RULES_BY_NAME.get(name);
  if (exact !== undefined) return exact;
  const parts = name.split('.');
  for (let end = parts.length - 1; end > 0; end -= 1) {
    const rule = RULES_BY_NAME.get(`${parts.slice(0, end).join('.')}.*`);
    if (rule !== undefined) return rule;
  }
  return parts.length > 1 ? RULES_BY_NAME.get(`?.${parts.at(-1)}`) : undefined;
}

const RISKS: ReadonlySet<string> = new Set(['code-execution', 'process', 'native-code', 'introspection']);

function prefixOf({ kind, severity }: NameRule): string {
  if (RISKS.has(kind)) return 'Security risk';
  return severity === 'info' ? 'Note' : 'Warning';
}

function openFindings({ name, how, line, mode }: Use): CodeFinding[] {
  if (how !== 'called' || mode === undefined || !OPENERS.has(name) || !/[wax+?]/u.test(mode)) return [];
  const says = mode.includes('?') ? 'may write a file: its mode is not known' : `writes a file (mode '${mode}')`;
  const message = `Warning: ${shownName(name)}() ${says}`;
  return [{ kind: 'file-write', rule: 'opens-to-write', severity: 'warning', line, message, name }];
}

function starterFindings({ name, how, line }: Use, { imports }: Facts): CodeFinding[] {
  if (how !== 'called' || !name.startsWith('?.') || !PROCESS_STARTERS.has(name.slice(2))) return [];
  if (!imports.some((imported) => PROCESS_MODULES.has(imported.name.split('.')[0] ?? ''))) return [];
  const message = `Security risk: ${shownName(name)}() may start a process`;
  return [{ kind: 'process', rule: 'may-start-process', severity: 'warning', line, message, name }];
}

function dynamicFinding({ name, line }: Facts['dynamic'][number]): CodeFinding {
  const what = name === 'import' ? 'imports a module' : name === 'call' ? 'calls a function' : 'takes an attribute';
  const message = `Warning: dynamic call: the code ${what} by a name that is only known when it runs`;
  return { kind: 'dynamic', rule: `dynamic-${name}`, severity: 'warning', line, message, name: null };
}

function resultFindings({ results }: Facts): CodeFinding[] {
  if (results === 'dict' || results === 'unknown') return [];
  const message =
    results === 'none'
      ? 'The code assigns no dictionary named results at its top level'
      : 'The variable results is not a dictionary';
  return [{ kind: 'result-structure', rule: 'results', severity: 'warning', line: null, message, name: 'results' }];
}
