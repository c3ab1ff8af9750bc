/** U-63: every combination of settings and findings, and the decision about the code. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import { Examiner } from '../analysis/examine.ts';
import type { Facts } from '../analysis/facts.ts';
import { loadConfiguration } from '../config/load.ts';
import { APPROVAL_MODES, GLOBAL_MODES, type Configuration } from '../config/schema.ts';
import { CodeAnalyzer } from './code-analyzer.ts';

const CODE = {
  none: 'results = {"a": 1}',
  read: 'import epics\nresults = {"x": epics.caget("X")}',
  write: 'from epics import caput as _w\n_w("X", 1)\nresults = {}',
  risk: 'import subprocess\nresults = {"x": subprocess.run(["ls"])}',
  syntax: 'results = {',
};
type Kind = keyof typeof CODE;

interface Case {
  readonly global: string;
  readonly enabled: boolean;
  readonly mode: string;
  readonly code: Kind;
  readonly writesEnabled: boolean;
  readonly allowsWrites: boolean;
  /** `requires_approval` of the mode `write_access`, and of `read_only`. */
  readonly asksWrite: boolean;
  readonly asksRead: boolean;
}

type Row = Readonly<Partial<Record<keyof Case, boolean | string | readonly string[]>>> & {
  readonly gives: readonly [decision: string, executionMode: string, reason: string];
};

const OFF = 'Python execution approval is disabled';
const MODE_OFF = 'Approval mode is disabled';
const ALL = 'All code requires approval';
const WRITES = 'Code contains EPICS write operations';
const NO_WRITES = 'Code contains no EPICS writes (read-only or pure Python)';
const BLOCKED = 'EPICS writes blocked by configuration';
const RISK = 'Code is of high security risk';
const WRITE_MODE = 'Execution mode write_access requires approval';
const READ_MODE = 'Execution mode read_only requires approval';
const WRITE_MODES = ['control_writes', 'epics_writes'];
const HARMLESS = ['none', 'read'];

/** The first row that matches decides. A column that a row omits matches anything. */
const ROWS: readonly Row[] = [
  { code: 'syntax', gives: ['refuse', 'read_only', 'Code that is not valid Python does not run'] },
  { code: 'write', writesEnabled: false, gives: ['refuse', 'read_only', BLOCKED] },
  { code: 'write', allowsWrites: false, gives: ['refuse', 'read_only', BLOCKED] },

  { global: 'disabled', code: 'write', gives: ['run', 'write_access', OFF] },
  { global: 'disabled', gives: ['run', 'read_only', OFF] },

  {
    global: 'all_capabilities',
    code: 'write',
    asksWrite: true,
    gives: ['ask', 'write_access', `${ALL}; ${WRITE_MODE}`],
  },
  { global: 'all_capabilities', code: 'write', gives: ['ask', 'write_access', ALL] },
  {
    global: 'all_capabilities',
    code: 'risk',
    asksRead: true,
    gives: ['ask', 'read_only', `${ALL}; ${RISK}; ${READ_MODE}`],
  },
  { global: 'all_capabilities', code: 'risk', gives: ['ask', 'read_only', `${ALL}; ${RISK}`] },
  { global: 'all_capabilities', asksRead: true, gives: ['ask', 'read_only', `${ALL}; ${READ_MODE}`] },
  { global: 'all_capabilities', gives: ['ask', 'read_only', ALL] },

  { code: 'write', enabled: false, asksWrite: true, gives: ['ask', 'write_access', WRITE_MODE] },
  { code: 'write', enabled: false, gives: ['run', 'write_access', OFF] },
  { code: 'write', mode: 'disabled', asksWrite: true, gives: ['ask', 'write_access', WRITE_MODE] },
  { code: 'write', mode: 'disabled', gives: ['run', 'write_access', MODE_OFF] },
  { code: 'write', mode: 'all_code', asksWrite: true, gives: ['ask', 'write_access', `${ALL}; ${WRITE_MODE}`] },
  { code: 'write', mode: 'all_code', gives: ['ask', 'write_access', ALL] },
  { code: 'write', mode: WRITE_MODES, asksWrite: true, gives: ['ask', 'write_access', `${WRITES}; ${WRITE_MODE}`] },
  { code: 'write', mode: WRITE_MODES, gives: ['ask', 'write_access', WRITES] },

  {
    code: 'risk',
    enabled: true,
    mode: 'all_code',
    asksRead: true,
    gives: ['ask', 'read_only', `${ALL}; ${RISK}; ${READ_MODE}`],
  },
  { code: 'risk', enabled: true, mode: 'all_code', gives: ['ask', 'read_only', `${ALL}; ${RISK}`] },
  { code: 'risk', asksRead: true, gives: ['ask', 'read_only', `${RISK}; ${READ_MODE}`] },
  { code: 'risk', gives: ['ask', 'read_only', RISK] },

  {
    code: HARMLESS,
    enabled: true,
    mode: 'all_code',
    asksRead: true,
    gives: ['ask', 'read_only', `${ALL}; ${READ_MODE}`],
  },
  { code: HARMLESS, enabled: true, mode: 'all_code', gives: ['ask', 'read_only', ALL] },
  { code: HARMLESS, asksRead: true, gives: ['ask', 'read_only', READ_MODE] },
  { code: HARMLESS, enabled: false, gives: ['run', 'read_only', OFF] },
  { code: HARMLESS, mode: 'disabled', gives: ['run', 'read_only', MODE_OFF] },
  { code: HARMLESS, mode: WRITE_MODES, gives: ['run', 'read_only', NO_WRITES] },
];

const BOTH = [true, false];
const CASES: readonly Case[] = GLOBAL_MODES.flatMap((global) =>
  BOTH.flatMap((enabled) =>
    APPROVAL_MODES.flatMap((mode) =>
      (Object.keys(CODE) as Kind[]).flatMap((code) =>
        BOTH.flatMap((writesEnabled) =>
          BOTH.flatMap((allowsWrites) =>
            BOTH.flatMap((asksWrite) =>
              BOTH.map((asksRead) =>
                Object.freeze({ global, enabled, mode, code, writesEnabled, allowsWrites, asksWrite, asksRead }),
              ),
            ),
          ),
        ),
      ),
    ),
  ),
);

const facts = new Map<string, Facts>();
let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [] });
  const examiner = new Examiner(host);
  for (const code of Object.values(CODE)) facts.set(code, await examiner.examine(code));
});
afterAll(() => host?.close());

function fits(row: Row, settings: Case): boolean {
  return (Object.keys(settings) as (keyof Case)[]).every((key) => {
    const wanted = row[key];
    return (
      wanted === undefined || wanted === settings[key] || (Array.isArray(wanted) && wanted.includes(settings[key]))
    );
  });
}

async function configurationOf(settings: Case): Promise<Configuration> {
  const { global, enabled, mode, writesEnabled, allowsWrites, asksWrite, asksRead } = settings;
  const content = {
    approval: { global_mode: global, capabilities: { python_execution: { enabled, mode } } },
    execution_control: { epics: { writes_enabled: writesEnabled } },
    framework: {
      execution: {
        modes: {
          read_only: { requires_approval: asksRead },
          write_access: { allows_writes: allowsWrites, requires_approval: asksWrite },
        },
      },
    },
  };
  return loadConfiguration({ text: JSON.stringify(content), environment: {} });
}

test(`U-63, O-71, O-72: all ${CASES.length} combinations are decided as the table says, and every row is needed`, async () => {
  // Real Python supplies the facts once, because the same five programs are analyzed each time.
  const analyzer = new CodeAnalyzer({ examine: async (code) => facts.get(code) ?? assert.fail('unknown code') });
  const used = new Set<Row>();
  for (const settings of CASES) {
    const row = ROWS.find((candidate) => fits(candidate, settings)) ?? assert.fail(JSON.stringify(settings));
    used.add(row);
    const result = await analyzer.analyze(CODE[settings.code], await configurationOf(settings));
    const decided = [result.decision, result.recommendedExecutionMode, result.approvalReasoning];
    expect(decided, JSON.stringify(settings)).toEqual(row.gives);
    expect(result.needsApproval).toBe(result.decision === 'ask');
    expect(result.passed).toBe(result.decision !== 'refuse');
  }
  expect(ROWS.filter((row) => !used.has(row))).toEqual([]);
  expect(CASES).toHaveLength(3 * 2 * 4 * 5 * 2 * 2 * 2 * 2);
});
