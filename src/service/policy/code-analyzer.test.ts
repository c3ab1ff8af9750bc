/** Analysis and policy together, with real Python. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import { Examiner } from '../analysis/examine.ts';
import { loadConfiguration } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';
import { toWire, type AnalysisResult } from './analysis-result.ts';
import type { DomainAnalyzer, PolicyAnalyzer } from './analyzers.ts';
import { CodeAnalyzer } from './code-analyzer.ts';
import { approvalSummary, evaluateApproval } from './default-policy.ts';

const SELECTIVE = 'approval: { capabilities: { python_execution: { mode: control_writes } } }';
const WRITES_ON = `${SELECTIVE}\nexecution_control: { epics: { writes_enabled: true } }`;

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [] });
});
afterAll(() => host?.close());

function configured(text: string): Promise<Configuration> {
  return loadConfiguration({ text, environment: {} });
}

async function analyze(code: string, text = WRITES_ON, analyzer = newAnalyzer()): Promise<AnalysisResult> {
  return analyzer.analyze(`${code}\nresults = {}`, await configured(text));
}

function newAnalyzer(): CodeAnalyzer {
  return new CodeAnalyzer(new Examiner(host));
}

test.each([
  'import epics\nepics.caput("X", 1)',
  'from epics import caput as _w\n_w("X", 1)',
  'from epics import *\ncaput("X", 1)',
  'import epics\ngetattr(epics, "caput")("X", 1)',
  'import importlib\nimportlib.import_module("epics").caput("X", 1)',
  'import epics\nlist(map(epics.caput, ["X"], [1]))',
  'import epics\nepics.PV("X").put(1)',
  'from epics import PV\npv = PV("X")\npv.value = 1',
  'from epics import PV\ndef move(pv):\n    pv.put(1)\nmove(PV("X"))',
  'from epics import PV\nfor pv in [PV(n) for n in "XY"]:\n    pv.put(1)',
  'from p4p.client.thread import Context\nwith Context("pva") as c:\n    c.put("X", 1)',
  'from caproto.sync.client import write\nwrite("X", 1)',
  'from caproto.threading.client import Context\npv, = Context().get_pvs("X")\npv.write(1)',
  'import tango\ntango.DeviceProxy("a/b/c").write_attribute("x", 1)',
  'import PyTango as t\nd = t.DeviceProxy("a/b/c")\nd.current = 5',
  'from osprey.runtime import write_channel\nwrite_channel("X", 1)',
  'write_channels({"X": 1})',
  'caput("X", 1)',
  'dev.set_value(5)',
  'PV("x").put(1)',
  'from lab import PV\nPV("x").put(1)',
  'from lab.devices import PV as P\npv = P("x")\npv.put(1)',
  'import lab.devices as devices\ndevices.PV("x").put(1)',
])('U-62, OB-08: %j is known to write', async (code) => {
  const result = await analyze(code);
  expect(result).toMatchObject({
    hasEpicsWrites: true,
    decision: 'ask',
    recommendedExecutionMode: 'write_access',
    detectedOperations: expect.arrayContaining(['epics_writes']) as unknown,
    riskCategories: ['accelerator_control'],
  });
  expect(result.findings).toContainEqual(expect.objectContaining({ kind: 'domain-write', severity: 'warning' }));
});

test.each([
  'import queue, epics\nq = queue.Queue()\nq.put(1)\nepics.caget("X")',
  'd = {}\nd.get("x")\nsession.put("url")',
  'from epics import caget, caput\ncaget("X")',
  '# epics.caput("X", 1)\ntext = "caput(1)"',
  'def write_channel(name):\n    return name\nwrite_channel("X")',
  'import epics\nclass A:\n    def __init__(self):\n        self.value = 1',
  'requests.put("http://x")',
  'class PV:\n    def put(self, x): self.x = x\nPV().put(1)',
  'from shelf import CPV\nCPV("x").put(1)',
])('OB-08: %j does not write', async (code) => {
  expect(await analyze(code)).toMatchObject({ hasEpicsWrites: false, recommendedExecutionMode: 'read_only' });
});

test('O-69: reads are known, and run without being asked about', async () => {
  const result = await analyze('import epics\nx = epics.PV("X").get() + epics.caget("Y")');
  expect(result).toMatchObject({ decision: 'run', hasEpicsReads: true, hasEpicsWrites: false, issues: [] });
  expect(result.domainData).toEqual({ writes: [], reads: ['epics.PV().get', 'epics.caget'] });
});

test('O-69: reads of whatever library are known', async () => {
  const { domainData } = await analyze('from lab import PV\nx = PV("x").get() + dev.get_value()');
  expect(domainData).toEqual({ writes: [], reads: ['lab.PV().get', 'dev.get_value'] });
});

test('O-75: configured names are added to the built-in ones, or take their place', async () => {
  const code = 'import plant\nplant.Valve().open()\nplant.set_level(3)\nx.ramp_to(1)';
  const patterns = (mode: string) =>
    `${WRITES_ON}\ncontrol_system: { patterns: { mode: ${mode}, write: [plant.Valve().open, .ramp_to], read: [plant.level] } }`;
  expect((await analyze(code)).hasEpicsWrites).toBe(false);
  expect((await analyze(code, patterns('extend'))).domainData).toMatchObject({
    writes: ['plant.Valve().open', 'x.ramp_to'],
  });
  const caput = 'import epics, plant\nepics.caput("X", 1)\nplant.level()';
  expect((await analyze(caput, patterns('extend'))).hasEpicsWrites).toBe(true);
  expect(await analyze(caput, patterns('override'))).toMatchObject({ hasEpicsWrites: false, hasEpicsReads: true });
});

test('O-71: writes that configuration blocks are refused with the key that blocks them', async () => {
  const code = 'import epics\nepics.caput("X", 1)';
  const blocks = {
    [SELECTIVE]: 'execution_control.epics.writes_enabled',
    [`${WRITES_ON}\ncontrol_system: { writes_enabled: false }`]: 'control_system.writes_enabled',
    [`${WRITES_ON}\nframework: { execution: { modes: { write_access: { allows_writes: false } } } }`]:
      'framework.execution.modes.write_access.allows_writes',
  };
  for (const [text, key] of Object.entries(blocks)) {
    const result = await analyze(code, text);
    expect(result).toMatchObject({ decision: 'refuse', passed: false, severity: 'error', needsApproval: false });
    expect(result.issues).toContain('EPICS writes blocked by configuration');
    expect(result.recommendations.join()).toContain(key);
  }
});

test('O-68, OB-07: risk is told by what code does; high risk is asked about and can be approved', async () => {
  expect((await analyze('model.eval()')).securityRiskLevel).toBe('low');
  expect((await analyze('df.to_csv("x.csv")')).securityRiskLevel).toBe('low');
  expect((await analyze('# System command execution')).securityRiskLevel).toBe('low');
  expect((await analyze('open("x", "w")')).securityRiskLevel).toBe('medium');
  expect((await analyze('import subprocess')).securityRiskLevel).toBe('medium');
  const risky = await analyze('import os\nos.system("ls")');
  expect(risky).toMatchObject({ securityRiskLevel: 'high', decision: 'ask', passed: true, severity: 'error' });
  expect(risky.additionalContext).toEqual({ risks: ['Security risk: os.system() starts a process'] });
});

test('O-65: a syntax error is refused with its line and a recommendation', async () => {
  const result = await analyze('x = = 1');
  expect(result).toMatchObject({ decision: 'refuse', issues: ['Syntax error at line 1: invalid syntax'] });
  expect(result.recommendations).toEqual(['Write plain Python that compiles']);
});

test('O-134: code in write access is always asked about by default, whatever the mode says', async () => {
  const off =
    'approval: { capabilities: { python_execution: { enabled: false } } }\nexecution_control: { epics: { writes_enabled: true } }';
  expect((await analyze('from epics import caput as _w\n_w("X", 1)', off)).decision).toBe('ask');
});

const NO_OPINION: PolicyAnalyzer = { name: 'no-opinion', decide: () => undefined };
const ALLOW: PolicyAnalyzer = {
  name: 'allow',
  decide: () => ({
    executionMode: 'write_access',
    needsApproval: false,
    approvalReasoning: 'Trusted',
    additionalIssues: ['Seen by the laboratory'],
    recommendations: [],
    analysisPassed: true,
    additionalContext: { by: 'laboratory' },
  }),
};

test('O-70, U-61: the policy with the lowest priority that has an opinion decides', async () => {
  const analyzer = newAnalyzer();
  analyzer.policies.register(NO_OPINION, { priority: 1 });
  expect((await analyze('x = 1', WRITES_ON, analyzer)).approvalReasoning).toMatch(/^Code contains no EPICS/u);
  analyzer.policies.register(ALLOW);
  const free = `${WRITES_ON}\nframework: { execution: { modes: { write_access: { requires_approval: false } } } }`;
  expect(await analyze('import os\nos.system("x")', free, analyzer)).toMatchObject({
    decision: 'run',
    approvalReasoning: 'Trusted',
    additionalContext: { by: 'laboratory' },
    issues: expect.arrayContaining(['Seen by the laboratory']) as unknown,
  });
  analyzer.policies.register({ ...ALLOW, name: 'later' }, { priority: 200 });
  expect(analyzer.policies.inOrder().map(({ name }) => name)).toEqual(['no-opinion', 'allow', 'default', 'later']);
});

test('U-61: no policy can allow what the configuration forbids, nor code that does not compile', async () => {
  const analyzer = newAnalyzer();
  analyzer.policies.register(ALLOW);
  expect((await analyze('x = 1', SELECTIVE, analyzer)).decision).toBe('refuse');
  expect((await analyze('x = 1', WRITES_ON, analyzer)).approvalReasoning).toBe(
    'Execution mode write_access requires approval',
  );
  expect((await analyze('x = = 1', WRITES_ON, analyzer)).decision).toBe('refuse');
});

test('U-61: domain analyzers are put together, and one of the same name takes the place of the built-in one', async () => {
  const own: DomainAnalyzer = {
    name: 'beam',
    analyze: ({ facts }) => ({
      detectedOperations: facts.uses.some(({ name }) => name === 'beam.dump') ? ['epics_writes'] : [],
      riskCategories: ['beam'],
      findings: [],
      domainData: { beam: true },
    }),
  };
  const analyzer = newAnalyzer();
  analyzer.domains.register(own);
  const result = await analyze('import beam, epics\nbeam.dump()\nepics.caget("X")', WRITES_ON, analyzer);
  expect(result).toMatchObject({ hasEpicsWrites: true, hasEpicsReads: true, riskCategories: ['beam'] });
  expect(result.domainData).toMatchObject({ beam: true, reads: ['epics.caget'] });
  analyzer.domains.register({ ...own, name: 'control-system' });
  expect((await analyze('import epics\nepics.caput("X", 1)', WRITES_ON, analyzer)).hasEpicsWrites).toBe(false);
});

test('O-71: an analyzer that fails blocks the code and is named', async () => {
  const fails = () => {
    throw new Error('no database');
  };
  const analyzer = newAnalyzer();
  analyzer.policies.register({ name: 'mine', decide: fails });
  expect(await analyze('x = 1', WRITES_ON, analyzer)).toMatchObject({
    decision: 'refuse',
    issues: ['Blocked: the policy analyzer mine failed: no database'],
  });
  const other = newAnalyzer();
  other.domains.register({ name: 'mine', analyze: fails });
  expect(await analyze('x = 1', WRITES_ON, other)).toMatchObject({
    decision: 'refuse',
    issues: ['Blocked: the domain analyzer mine failed: no database'],
  });
});

test('O-74: on the wire the result has the names that users know, and no environment variables', async () => {
  const text = `${WRITES_ON}\nframework: { execution: { modes: { write_access: { environment: { SECRET: hidden } } } } }`;
  const wire = toWire(await analyze('import epics\nepics.caput("X", 1)', text));
  expect(wire).toMatchObject({
    passed: true,
    issues: ['Warning: epics.caput() writes to the control system'],
    recommendations: [],
    severity: 'warning',
    has_epics_writes: true,
    has_epics_reads: false,
    recommended_execution_mode: 'write_access',
    needs_approval: true,
    approval_reasoning: 'Code contains EPICS write operations; Execution mode write_access requires approval',
    execution_mode_config: { kernel_name: 'python3-epics-write', allows_writes: true, requires_approval: true },
    security_risk_level: 'low',
  });
  expect(JSON.stringify(wire)).not.toContain('hidden');
});

test('O-72: a mode that is not known asks', () => {
  expect(evaluateApproval({ enabled: true, mode: 'sometimes' }, false)).toEqual({
    needsApproval: true,
    reasoning: 'Unknown approval mode: sometimes',
  });
});

test('O-73: the settings of approval can be looked at', async () => {
  expect(approvalSummary(await configured('approval: { global_mode: all_capabilities }'))).toEqual({
    global_mode: 'all_capabilities',
    python_execution: { enabled: true, mode: 'all_code', preview: true },
    effective: { enabled: true, mode: 'all_code' },
  });
});
