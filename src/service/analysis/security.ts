import type { Facts, Use } from './facts.ts';
import { EXPRESSION_METHODS, FORMULA_PLACES } from './code-runners.ts';
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
    ...facts.uses.flatMap((use) => [
      ...nameFindings(use),
      ...openFindings(use),
      ...expressionFindings(use, facts),
      ...starterFindings(use, facts),
    ]),
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

function nameFindings(use: Use): CodeFinding[] {
  const { name, how, line } = use;
  if (how === 'stored') return [];
  const rule = ruleOf(name);
  if (rule === undefined || isExempt(rule, use)) return [];
  const call = `${shownName(name)}${how === 'called' ? '()' : ''}`;
  const message = `${prefixOf(rule)}: ${call} ${rule.says}`;
  return [{ kind: rule.kind, rule: rule.rule, severity: rule.severity, line, message, name }];
}

function isExempt({ unlessBare, onlyWith, onlyMentioned }: NameRule, { how, bare, given }: Use): boolean {
  if (how !== 'called') return false; // who knows how it is called later
  if (unlessBare === true && bare === true) return true;
  if (onlyWith !== undefined && !given?.some((argument) => argument === onlyWith || argument === '*')) return true;
  return onlyMentioned === true;
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

const RISKS: ReadonlySet<string> = new Set(['code-execution', 'process', 'native-code', 'introspection', 'dynamic']);

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

/** Text that pandas, patsy or formulaic runs as an expression. Plain expressions over columns are everyday code. */
function expressionFindings({ name, how, line, text }: Use, { imports }: Facts): CodeFinding[] {
  if (how !== 'called' || text === undefined || text === 'plain') return [];
  const parts = name.split('.');
  const isFormula = FORMULA_PLACES.some((place) => name.startsWith(place)) || parts.at(-1) === 'from_formula';
  const isOfPandas = parts[0] === 'pandas' || imports.some((imported) => imported.name.split('.')[0] === 'pandas');
  const isExpression = isOfPandas && parts.length > 1 && EXPRESSION_METHODS.has(parts.at(-1) ?? '');
  if (!isFormula && !isExpression) return [];
  const says = text === 'calls' ? 'runs text that calls functions' : 'runs text that is only known when it runs';
  const message = `Security risk: ${shownName(name)}() ${says}`;
  return [{ kind: 'code-execution', rule: 'runs-expression', severity: 'error', line, message, name }];
}

function starterFindings({ name, how, line }: Use, { imports }: Facts): CodeFinding[] {
  if (how !== 'called' || !name.startsWith('?.') || !PROCESS_STARTERS.has(name.slice(2))) return [];
  if (!imports.some((imported) => PROCESS_MODULES.has(imported.name.split('.')[0] ?? ''))) return [];
  const message = `Security risk: ${shownName(name)}() may start a process`;
  return [{ kind: 'process', rule: 'may-start-process', severity: 'warning', line, message, name }];
}

function dynamicFinding({ name, line }: Facts['dynamic'][number]): CodeFinding {
  const what = name === 'import' ? 'imports a module' : name === 'call' ? 'calls a function' : 'takes an attribute';
  const message = `Security risk: dynamic call: the code ${what} by a name that is only known when it runs`;
  return { kind: 'dynamic', rule: `dynamic-${name}`, severity: 'error', line, message, name: null };
}

function resultFindings({ results }: Facts): CodeFinding[] {
  if (results === 'dict' || results === 'unknown') return [];
  const message =
    results === 'none'
      ? 'The code assigns no dictionary named results at its top level'
      : 'The variable results is not a dictionary';
  return [{ kind: 'result-structure', rule: 'results', severity: 'warning', line: null, message, name: 'results' }];
}
