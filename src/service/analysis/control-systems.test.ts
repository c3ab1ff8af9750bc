/** Every built-in name of a control system, in programs that the real analyzer reads. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import { loadConfiguration } from '../config/load.ts';
import { CONTROL_DOMAIN } from '../policy/control-domain.ts';
import type { DomainAnalysis } from '../policy/analyzers.ts';
import { controlPatterns } from './control-systems.ts';
import { Examiner } from './examine.ts';

const BUILT_IN = controlPatterns({ mode: 'extend', write: [], read: [] });

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [] });
});
afterAll(() => host?.close());

async function analyze(code: string): Promise<DomainAnalysis> {
  const facts = await new Examiner(host).examine(code);
  const configuration = await loadConfiguration({ text: 'approval: {}', environment: {} });
  return CONTROL_DOMAIN.analyze({ code, facts, findings: [], configuration });
}

/** Code that uses a name as its pattern means it: a function, a member of an instance, a read or an assigned attribute. */
function programFor(pattern: string, isRead: boolean): string {
  const isStore = pattern.endsWith('=');
  const body = pattern.replace(/=$/u, '').replace('*', 'current');
  const attribute = isStore || (isRead && body.endsWith('.value'));
  if (body.startsWith('.')) return `device${body}(1)`;
  const [scope = ''] = body.split(/\.?[A-Z]\w*\(\)/u);
  const owner = body.slice(scope === '' ? 0 : scope.length + 1).replaceAll('()', '("X")');
  const dot = scope.lastIndexOf('.');
  const module = body.includes('()') ? scope : scope.slice(0, Math.max(0, dot));
  const name = body.includes('()') ? owner : scope.slice(dot + 1);
  const imported = module === '' ? '' : `from ${module} import ${name.split(/[.(]/u)[0]}\n`;
  return `${imported}${name}${isStore ? ' = 1' : attribute ? '' : '(1)'}`;
}

describe.for(['write', 'read'] as const)('Of the built-in names that %s', (kind) => {
  test.for([...BUILT_IN[kind]])('%s is recognized', async (pattern) => {
    const code = programFor(pattern, kind === 'read');
    const { detectedOperations, findings, riskCategories } = await analyze(code);
    expect(detectedOperations, code).toContain(`epics_${kind}s`);
    expect(riskCategories).toEqual(kind === 'write' ? ['accelerator_control'] : []);
    expect(findings).toContainEqual(
      expect.objectContaining(
        kind === 'write'
          ? { kind: 'domain-write', rule: 'writes-control-system', severity: 'warning' }
          : { kind: 'domain-read', rule: 'reads-control-system', severity: 'info' },
      ),
    );
  });
});

test.for([
  ['import epics\nepics.caput("X", 1)', 'Warning: epics.caput() writes to the control system'],
  ['from epics import PV\nPV("X").value = 1', 'Warning: epics.PV().value = writes to the control system'],
  ['import epics\nput = epics.caput', 'Warning: epics.caput writes to the control system'],
  ['import epics\n[given][0].put(1)', 'Warning: .put() may write to the control system'],
  ['import epics\nepics.caget("X")', 'Note: epics.caget() reads from the control system'],
] as const)('%j is described as %j', async ([code, message]) => {
  expect((await analyze(code)).findings.map((finding) => finding.message)).toContain(message);
});

test('an unknown import makes a write of an unknown object possible, and never a read', async () => {
  const code = 'import importlib\nlib = importlib.import_module(given)\n[lib][0].put(1)\n[lib][0].get()';
  expect((await analyze(code)).domainData).toEqual({ writes: ['?.put'], reads: [] });
});

test('at most 50 names are shown, each once', async () => {
  const calls = Array.from({ length: 60 }, (_, index) => `d${index}.set_value(1)\nd${index}.set_value(2)`).join('\n');
  const { domainData, findings } = await analyze(calls);
  expect(domainData['writes']).toHaveLength(50);
  expect(findings.length).toBeGreaterThanOrEqual(60);
});

test('no built-in name was lost: the tests above follow the lists', () => {
  expect([BUILT_IN.write.length, BUILT_IN.read.length]).toEqual([76, 39]);
});

test('configured names come after the built-in ones, or instead of them', () => {
  const own = { write: ['plant.open'], read: ['plant.level'] };
  const extended = controlPatterns({ mode: 'extend', ...own });
  expect(extended.write).toEqual([...BUILT_IN.write, 'plant.open']);
  expect(extended.read).toEqual([...BUILT_IN.read, 'plant.level']);
  expect(controlPatterns({ mode: 'override', ...own })).toEqual(own);
});
