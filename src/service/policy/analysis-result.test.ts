import { expect, test } from 'vitest';
import { unanalyzable } from '../analysis/facts.ts';
import type { CodeFinding } from '../analysis/finding.ts';
import { loadConfiguration } from '../config/load.ts';
import { analysisResult, toWire, verdictOf, type AnalysisResult } from './analysis-result.ts';
import { AnalyzerRegistry, type PolicySubject } from './analyzers.ts';
import { refusal, type ExecutionPolicyDecision } from './decision.ts';

const ALLOWED: ExecutionPolicyDecision = {
  executionMode: 'read_only',
  needsApproval: false,
  approvalReasoning: 'Harmless',
  additionalIssues: [],
  recommendations: [],
  analysisPassed: true,
  additionalContext: {},
};

function finding(more: Partial<CodeFinding>): CodeFinding {
  return { kind: 'network', rule: 'r', severity: 'warning', line: 1, message: 'm', name: null, ...more };
}

async function resultOf(
  findings: readonly CodeFinding[],
  policy: Partial<ExecutionPolicyDecision> = {},
  operations: readonly string[] = [],
): Promise<AnalysisResult> {
  const subject: PolicySubject = {
    code: '',
    facts: unanalyzable(null, ''),
    findings,
    configuration: await loadConfiguration({ text: 'approval: {}', environment: {} }),
    domain: { detectedOperations: operations, riskCategories: ['c'], findings: [], domainData: { d: 1 } },
    riskLevel: 'medium',
  };
  return analysisResult(subject, { ...ALLOWED, ...policy });
}

test('issues are the messages of warnings and errors, then those of the policy, each once', async () => {
  const findings = [
    finding({ message: 'note', severity: 'info' }),
    finding({ message: 'warning' }),
    finding({ message: 'error', severity: 'error' }),
  ];
  const { issues } = await resultOf(findings, { additionalIssues: ['error', 'policy', 'policy'] });
  expect(issues).toEqual(['warning', 'error', 'policy']);
});

test('advice is given by the kind of findings, before that of the policy', async () => {
  const findings = (['network', 'result-structure', 'syntax', 'network'] as const).map((kind) => finding({ kind }));
  const { recommendations } = await resultOf(findings, { recommendations: ['more'] });
  expect(recommendations).toEqual([
    'Write plain Python that compiles',
    'Store outputs in a dictionary named results',
    'Sessions have no network unless the configuration allows it',
    'more',
  ]);
  expect((await resultOf([finding({ kind: 'process' })])).recommendations).toEqual([]);
});

test('what is refused is an error, whatever was found', async () => {
  expect((await resultOf([], refusal('no'))).severity).toBe('error');
  expect((await resultOf([])).severity).toBe('info');
  expect((await resultOf([finding({})])).severity).toBe('warning');
});

test('operations of the domain and the settings of the mode are in the result', async () => {
  const reading = await resultOf([], {}, ['epics_reads']);
  expect(reading).toMatchObject({ hasEpicsReads: true, hasEpicsWrites: false, needsApproval: false });
  const writing = await resultOf([], { executionMode: 'write_access', needsApproval: true }, ['epics_writes']);
  expect(writing).toMatchObject({ hasEpicsReads: false, hasEpicsWrites: true, needsApproval: true });
  expect(writing.executionModeConfig.kernel_name).toBe('python3-epics-write');
});

test('on the wire every field is in snake case, and the environment of the mode is left out', async () => {
  const wire = toWire(await resultOf([finding({})]));
  expect(Object.keys(wire).filter((key) => /[A-Z]/u.test(key))).toEqual([]);
  expect(wire['execution_mode_config']).toEqual({
    kernel_name: 'python3-epics-readonly',
    allows_writes: false,
    requires_approval: false,
  });
  expect(JSON.parse(JSON.stringify(wire))).toEqual(wire);
});

test('a verdict tells concerns first and permits each kind of finding once', async () => {
  const findings = [finding({ message: 'w' }), finding({ message: 'v' }), finding({ kind: 'process', message: 'p' })];
  const result = await resultOf(findings);
  const verdict = verdictOf(result, ['Check what it changed']);
  expect(verdict.warnings[0]).toBe('Check what it changed');
  expect(verdict.warnings).toEqual(['Check what it changed', ...result.issues, ...result.recommendations]);
  expect(verdict.approvedKinds).toEqual(['network', 'process']);
  expect(verdict).toMatchObject({ mode: 'read_only', reasoning: 'Harmless', details: toWire(result) });
});

test('analyzers run by priority, and those of the same priority in the order of their registration', () => {
  const registry = new AnalyzerRegistry([{ name: 'built-in' }]);
  registry.register({ name: 'last' }, { priority: 101 });
  registry.register({ name: 'one' });
  registry.register({ name: 'two' });
  registry.register({ name: 'first' }, { priority: -1 });
  expect(registry.inOrder().map(({ name }) => name)).toEqual(['first', 'one', 'two', 'built-in', 'last']);
  const again = { name: 'one' };
  registry.register(again, { priority: 500 });
  expect(registry.inOrder().at(-1)).toBe(again);
  expect(registry.inOrder()).toHaveLength(5);
});
