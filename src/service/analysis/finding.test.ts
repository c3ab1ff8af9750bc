import { describe, expect, test } from 'vitest';
import {
  highestSeverity,
  highRisks,
  securityRiskLevel,
  shownName,
  tidy,
  type CodeFinding,
  type FindingKind,
  type Severity,
} from './finding.ts';

function finding(more: Partial<CodeFinding> = {}): CodeFinding {
  return { kind: 'process', rule: 'r', severity: 'warning', line: 1, message: 'm', name: 'os.system', ...more };
}

describe('a tidy list of findings', () => {
  test('has each finding once, at the line where it first occurs', () => {
    expect(tidy([finding({ line: 2 }), finding({ line: 9 })])).toEqual([finding({ line: 2 })]);
  });

  test('keeps findings apart that differ in rule, name or message', () => {
    const findings = [finding(), finding({ rule: 's' }), finding({ name: 'os.popen' }), finding({ message: 'n' })];
    expect(tidy(findings)).toEqual(findings);
  });

  test('is sorted by line, and findings without a line come first', () => {
    const lines = [7, null, 2].map((line) => finding({ line, message: String(line) }));
    expect(tidy(lines).map(({ line }) => line)).toEqual([null, 2, 7]);
  });

  test('keeps the most severe findings when there are more than 200', () => {
    const notes = Array.from({ length: 300 }, (_, index) =>
      finding({ line: index, message: `${index}`, severity: 'info' }),
    );
    const severe = [
      finding({ line: 900, message: 'warning' }),
      finding({ line: 901, message: 'error', severity: 'error' }),
    ];
    const kept = tidy([...notes, ...severe]);
    expect(kept).toHaveLength(200);
    expect(kept.slice(-2)).toEqual(severe);
    expect(kept[0]?.line).toBe(0);
  });

  test('does not change the list that it was given', () => {
    const given = Object.freeze([finding({ line: 3 }), finding({ line: 1, message: 'n' })]);
    tidy(given);
    expect(given.map(({ line }) => line)).toEqual([3, 1]);
  });
});

test.for<[readonly Severity[], Severity]>([
  [[], 'info'],
  [['info'], 'info'],
  [['info', 'warning', 'info'], 'warning'],
  [['warning', 'error', 'info'], 'error'],
])('the highest of %j is %s', ([severities, highest]) => {
  expect(highestSeverity(severities.map((severity) => finding({ severity })))).toBe(highest);
});

test.for([
  ['builtins.open', 'open'],
  ['?.put', '.put'],
  ['epics.PV().put', 'epics.PV().put'],
  ['lab.builtins.open', 'lab.builtins.open'],
  ['?', '?'],
])('%s is shown as %s', ([name = '', shown]) => {
  expect(shownName(name)).toBe(shown);
});

const RISKY: readonly FindingKind[] = [
  'code-execution',
  'process',
  'native-code',
  'introspection',
  'import',
  'dynamic',
  'file-write',
  'file-removal',
  'network',
];
const HARMLESS: readonly FindingKind[] = ['syntax', 'domain-write', 'domain-read', 'result-structure', 'analyzer'];

describe('the risk of code', () => {
  test.for(RISKY)('follows the severity of a finding of the kind %s', (kind) => {
    const levelOf = (severity: Severity): string => securityRiskLevel([finding({ kind, severity })]);
    expect([levelOf('info'), levelOf('warning'), levelOf('error')]).toEqual(['low', 'medium', 'high']);
  });

  test.for(HARMLESS)('is not raised by a finding of the kind %s', (kind) => {
    const findings = [finding({ kind, severity: 'error' })];
    expect(securityRiskLevel(findings)).toBe('low');
    expect(highRisks(findings)).toEqual([]);
  });

  test('is the highest of all findings, and only errors make it high', () => {
    const error = finding({ severity: 'error' });
    const findings = [finding({ severity: 'info' }), error, finding()];
    expect(securityRiskLevel(findings)).toBe('high');
    expect(highRisks(findings)).toEqual([error]);
    expect(securityRiskLevel([])).toBe('low');
  });
});
