/** What code may do in its execution mode, and whether it needs approval. */
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import type { CellMetadata } from '../../../src/notebook/nbformat.ts';
import type { PythonServiceResult } from '../../../src/service.ts';
import { EPICS, Laboratory, REQUEST, thread, WRITES, type Sections } from './laboratory.ts';

const laboratory = new Laboratory();

const APPROVE = new Command({ resume: { approved: true } });
const ONCE = { ...REQUEST, expected_results: {}, retries: 0 };
/** Adds a write to code, so that it runs in the mode write_access. */
const WRITING = `${EPICS}_w('magnet', 1)\n`;
const NO_PREVIEW = { capabilities: { python_execution: { preview: false } } };

/** Runs code, approves it if needed, and returns its results. */
async function results(
  code: string,
  config: Sections = {},
): Promise<PythonServiceResult['executionResult']['results']> {
  await using lab = await laboratory.start({ code, config });
  const first = await lab.service.run(ONCE, thread('t'));
  const { result } = first.status === 'completed' ? first : { result: await lab.service.invoke(APPROVE, thread('t')) };
  return result.executionResult.results;
}

test('O-26 O-131 a write that analysis cannot see is refused when it runs, and the audit log says so', async () => {
  const lab = laboratory.fresh();
  chmodSync(lab, 0o755);
  writeFileSync(path.join(lab, 'epics.py'), 'def caput(name, value):\n    print("wrote", name)\n');
  writeFileSync(path.join(lab, 'magnets.py'), 'from epics import caput as _w\n\ndef ramp():\n    _w("magnet", 1)\n');
  const code = 'import sys\nsys.path.append("/lab")\nimport magnets\nmagnets.ramp()\nresults = {}';
  const config = { ...WRITES, framework: { execution: { local: { mounts: [{ source: lab, target: '/lab' }] } } } };
  await using started = await laboratory.start({ code, config });
  await expect(started.service.invoke(ONCE, thread('t'))).rejects.toThrow(
    /^WriteRefused: epics\.caput\(\) is refused: this code runs in the mode read_only\. Read only, or write in a way that analysis can see/,
  );
  expect(await started.service.audit.list()).toMatchObject([
    { action: 'executed', details: { mode: 'read_only', outcome: 'raised' } },
    { action: 'refused', details: { layer: 'runtime', mode: 'read_only', source: code, source_truncated: false } },
  ]);
});

test('U-62 an alias is no way around the analysis', async () => {
  await using lab = await laboratory.start({ code: 'from epics import caput as _w\n_w("magnet", 1)\nresults = {}' });
  await expect(lab.service.invoke(ONCE, thread('t'))).rejects.toMatchObject({ name: 'PolicyRefusedError' });
  const entries = await lab.service.audit.list({ action: 'refused' });
  expect(entries).toHaveLength(1);
});

const ATTEMPTS = `def attempt(path):
    try:
        open(path, 'w').write('x')
        return True
    except OSError:
        return False
results = {'workspace': attempt('new.txt'), 'mount': attempt('/data/new.txt'), 'temporary': attempt('/tmp/x')}`;

test('O-26 O-27 O-105 in read_only code writes nothing that outlives its run but copies of its own files', async () => {
  const source = laboratory.fresh();
  chmodSync(source, 0o777);
  const framework = { execution: { local: { mounts: [{ source, target: '/data', writable: true }] } } };
  expect(await results(ATTEMPTS, { framework })).toEqual({ workspace: true, mount: false, temporary: true });
  expect(readdirSync(source)).toEqual([]);
  const config = { ...WRITES, framework, approval: NO_PREVIEW };
  expect(await results(WRITING + ATTEMPTS, config)).toEqual({ workspace: true, mount: true, temporary: true });
  expect(readdirSync(source)).toEqual(['new.txt']);
});

test('each mode has environment variables of its own', async () => {
  const modes = {
    read_only: { environment: { GATEWAY: 'reading' } },
    write_access: { environment: { GATEWAY: 'writing' } },
  };
  const config = { ...WRITES, framework: { execution: { modes } } };
  const code = 'import os\nresults = {"gateway": os.environ.get("GATEWAY"), "home": os.environ.get("VIVARIUM_HOME")}';
  expect(await results(code, config)).toEqual({ gateway: 'reading', home: null });
  expect(await results(WRITING + code, config)).toEqual({ gateway: 'writing', home: null });
});

test('a mode reaches the network if it is given one, and not else', async () => {
  await using server = createServer((_, response) => void response.end('hello')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const code = `import urllib.request
try: text = urllib.request.urlopen('http://127.0.0.1:${port}', timeout=5).read().decode()
except OSError: text = 'unreachable'
results = {'text': text}`;
  const config = { ...WRITES, framework: { execution: { modes: { write_access: { network: true } } } } };
  expect(await results(code, config)).toEqual({ text: 'unreachable' });
  expect(await results(WRITING + code, config)).toEqual({ text: 'hello' });
});

test('a mode that has a list reaches the hosts on it and no others, and the notebook says which', async () => {
  const reply = (_: unknown, response: ServerResponse): void => void response.end('hello');
  await using listed = createServer(reply).listen(0, '127.0.0.1');
  await using other = createServer(reply).listen(0, '127.0.0.1');
  await Promise.all([once(listed, 'listening'), once(other, 'listening')]);
  const [port, otherPort] = [listed, other].map((server) => (server.address() as AddressInfo).port);
  const code = `import urllib.request
def reach(port):
    try: return urllib.request.urlopen(f'http://127.0.0.1:{port}', timeout=5).read().decode()
    except OSError: return 'unreachable'
results = {'listed': reach(${port}), 'other': reach(${otherPort})}`;
  const modes = { read_only: { network: { allow: [`127.0.0.1:${port}`] } } };
  await using lab = await laboratory.start({ code, config: { framework: { execution: { modes } } } });
  const { executionResult } = await lab.service.invoke(ONCE, thread('t'));
  expect(executionResult.results).toEqual({ listed: 'hello', other: 'unreachable' });
  const notebook = readFileSync(executionResult.notebookPath, 'utf8');
  const reached = JSON.parse(notebook) as { cells: { metadata: CellMetadata }[] };
  const told = reached.cells.flatMap(({ metadata }) => metadata.vivarium?.network.hosts ?? []);
  expect(told).toMatchObject([{ host: '127.0.0.1', port, decision: 'allowed', connections: 1 }]);
});

const PLAIN = 'results = {}';
const write = `${EPICS}_w('magnet', 1)\nresults = {}`;

test.for([
  // global_mode, enabled, mode, code, whether approval is needed
  ['selective', true, 'epics_writes', PLAIN, false],
  ['selective', true, 'epics_writes', write, true],
  ['selective', true, 'all_code', PLAIN, true],
  ['selective', true, 'disabled', PLAIN, false],
  ['selective', false, 'all_code', PLAIN, false],
  ['disabled', true, 'all_code', write, false],
  ['all_capabilities', false, 'disabled', PLAIN, true],
] as const)(
  'O-30 O-31 O-32 %s, enabled %s, mode %s: %j is asked about: %s',
  async ([global_mode, enabled, mode, code, isAsked]) => {
    const config = {
      ...WRITES,
      approval: { global_mode, capabilities: { python_execution: { enabled, mode, preview: false } } },
      framework: { execution: { modes: { write_access: { requires_approval: false } } } }, // a reason of its own to ask
    };
    await using lab = await laboratory.start({ config, code });
    expect((await lab.service.run(ONCE, thread('t'))).status).toBe(isAsked ? 'awaiting-approval' : 'completed');
  },
);

test('O-27 OB-01 a mode that requires approval is asked about, whatever the capability says', async () => {
  const approval = { capabilities: { python_execution: { mode: 'disabled', preview: false } } };
  const asks = async (requires_approval: boolean): Promise<string> => {
    const framework = { execution: { modes: { write_access: { requires_approval } } } };
    await using lab = await laboratory.start({ config: { ...WRITES, approval, framework }, code: write });
    return (await lab.service.run(ONCE, thread('t'))).status;
  };
  expect([await asks(true), await asks(false)]).toEqual(['awaiting-approval', 'completed']);
});

test.for([
  'import timeit\ntimeit.timeit("pass", number=1)',
  'from importlib.machinery import SourceFileLoader\nSourceFileLoader("m", "m.py")',
  'import json\nvars(json)[str(1)[:0] + "dumps"](1)',
  'import io, pickle, numpy\nnumpy.load(io.BytesIO(pickle.dumps(1)), allow_pickle=True)',
])('%j could do anything, so it is asked about where plain code is not', async (code) => {
  await using lab = await laboratory.start({ config: WRITES, code: `${code}\nresults = {}` });
  const { status } = await lab.service.run(ONCE, thread('t'));
  expect(status).toBe('awaiting-approval');
});
