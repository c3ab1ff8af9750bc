import { describe, expect, test } from 'vitest';
import { loadConfiguration } from '../config/load.ts';
import type { Configuration, ExecutionMode } from '../config/schema.ts';
import {
  decisionOf,
  refusal,
  withinConfiguration,
  writeBlock,
  writesRefused,
  type ExecutionPolicyDecision,
} from './decision.ts';

function decision(more: Partial<ExecutionPolicyDecision> = {}): ExecutionPolicyDecision {
  return {
    executionMode: 'read_only',
    needsApproval: false,
    approvalReasoning: 'because',
    additionalIssues: ['issue'],
    recommendations: ['advice'],
    analysisPassed: true,
    additionalContext: { by: 'test' },
    ...more,
  };
}

interface Settings {
  readonly system?: boolean;
  readonly epics?: boolean;
  readonly allows?: boolean;
  readonly requires?: boolean;
  readonly global?: string;
}

function configured({ system = true, epics = true, allows = true, requires = false, global = 'selective' }: Settings) {
  const modes = {
    read_only: { requires_approval: requires },
    write_access: { allows_writes: allows, requires_approval: requires },
  };
  const content = {
    approval: { global_mode: global },
    control_system: { writes_enabled: system },
    execution_control: { epics: { writes_enabled: epics } },
    framework: { execution: { modes } },
  };
  return loadConfiguration({ text: JSON.stringify(content), environment: {} });
}

test.for([
  [true, true, 'ask'],
  [true, false, 'run'],
  [false, true, 'refuse'],
  [false, false, 'refuse'],
] as const)('passed %s and needs approval %s: %s', ([analysisPassed, needsApproval, judgement]) => {
  expect(decisionOf(decision({ analysisPassed, needsApproval }))).toBe(judgement);
});

test.for([
  [{}, undefined],
  [{ system: false }, 'control_system.writes_enabled'],
  [{ epics: false }, 'execution_control.epics.writes_enabled'],
  [{ allows: false }, 'framework.execution.modes.write_access.allows_writes'],
  [{ system: false, epics: false, allows: false }, 'control_system.writes_enabled'],
  [{ epics: false, allows: false }, 'execution_control.epics.writes_enabled'],
] as const)('with %j writes are blocked by %s', async ([settings, key]) => {
  expect(writeBlock(await configured(settings))).toBe(key);
});

test('a refusal gives its reason as an issue, unless it has issues of its own', () => {
  expect(refusal('no')).toEqual({
    executionMode: 'read_only',
    needsApproval: false,
    approvalReasoning: 'no',
    additionalIssues: ['no'],
    recommendations: [],
    analysisPassed: false,
    additionalContext: {},
  });
  expect(refusal('no', { issues: [] }).additionalIssues).toEqual([]);
  expect(refusal('no', { recommendations: ['do it'] }).recommendations).toEqual(['do it']);
  expect(writesRefused('some.key').recommendations.join()).toContain('set some.key to true');
});

describe('no policy can go beyond the configuration', () => {
  const within = async (given: ExecutionPolicyDecision, settings: Settings): Promise<ExecutionPolicyDecision> =>
    withinConfiguration(given, (await configured(settings)) satisfies Configuration);

  test.for(['system', 'epics', 'allows'] as const)('write access is refused where %s is off', async (key) => {
    const refused = await within(decision({ executionMode: 'write_access' }), { [key]: false });
    expect(refused).toMatchObject({ analysisPassed: false, executionMode: 'read_only' });
    expect(refused.approvalReasoning).toBe('EPICS writes blocked by configuration');
    const reading = decision();
    expect(await within(reading, { [key]: false })).toBe(reading);
  });

  test.for<ExecutionMode>(['read_only', 'write_access'])(
    'approval that %s requires is added',
    async (executionMode) => {
      const reason = `Execution mode ${executionMode} requires approval`;
      const free = decision({ executionMode });
      expect(await within(free, { requires: true })).toEqual({
        ...free,
        needsApproval: true,
        approvalReasoning: reason,
      });
      const asked = decision({ executionMode, needsApproval: true });
      expect((await within(asked, { requires: true })).approvalReasoning).toBe(`because; ${reason}`);
      expect(await within(free, { requires: false })).toBe(free);
      expect(await within(free, { requires: true, global: 'disabled' })).toBe(free);
    },
  );

  test('a refusal stays as it is', async () => {
    const refused = refusal('no');
    expect(await within(refused, { requires: true, system: false })).toBe(refused);
  });
});
