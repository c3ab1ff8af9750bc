/** The guard of read-only runs, in real sessions, against a package that looks like pyepics. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import type { Session } from '../../host/session.ts';
import { loadConfiguration } from '../config/load.ts';
import { readOnlyGuard, type GuardOptions } from './read-only-guard.ts';

const EPICS = {
  'epics/__init__.py': `
from . import ca
from .pv import PV
from .ca import put as _put

def caput(name, value):
    return _put(name, value)

def caget(name):
    return ca.get(name)
`,
  'epics/ca.py':
    'store = {"X": 1}\ndef put(name, value):\n    store[name] = value\ndef get(name):\n    return store.get(name)\n',
  'epics/pv.py': `
from . import ca

class PV:
    def __init__(self, name):
        self.name = name

    def put(self, value):
        ca.store[self.name] = value

    def get(self):
        return ca.store[self.name]

    @property
    def value(self):
        return self.get()

    @value.setter
    def value(self, value):
        ca.store[self.name] = value
`,
  'lab.py':
    'sent = []\ndef write_channel(name, value):\n    sent.append(name)\ndef read_channel(name):\n    return 5\n',
  'plant.py': 'class Valve:\n    def open(self):\n        return "opened"\n',
};

const CONFIGURATION = 'approval: {}\ncontrol_system: { patterns: { write: [plant.Valve().open] } }';

let host: Host;
beforeAll(async () => {
  host = await createHost({ preload: [] });
});
afterAll(() => host?.close());

async function guarded(text = CONFIGURATION, options: GuardOptions = {}): Promise<Session> {
  const configuration = await loadConfiguration({ text, environment: {} });
  const session = await host.createSession({ initCode: await readOnlyGuard(configuration, options) });
  for (const [path, source] of Object.entries(EPICS)) await session.files.upload(path, Buffer.from(source));
  return session;
}

async function run(session: Session, code: string): Promise<Execution> {
  return session.runCode(`import sys\nif "." not in sys.path: sys.path.insert(0, ".")\n${code}`);
}

const WRITES = [
  'import epics\nepics.caput("X", 2)',
  'import epics as e\nf = e.caput\nf("X", 2)',
  'from epics import caput as _w\n_w("X", 2)',
  'from epics import *\ncaput("X", 2)',
  'import epics\ngetattr(epics, "ca" + "put")("X", 2)',
  'import importlib\nimportlib.import_module("epics").caput("X", 2)',
  '__import__("epics").ca.put("X", 2)',
  'import epics, sys\nvars(sys.modules["epics"])["caput"]("X", 2)',
  'import epics\nepics._put("X", 2)',
  'import epics\neval("epics.caput(\'X\', 2)")',
  'import epics\nepics.PV("X").put(2)',
  'from epics.pv import PV\nPV("X").put(2)',
  'from epics import PV\nPV.put(PV("X"), 2)',
  'from epics import PV\nclass Mine(PV):\n    pass\nMine("X").put(2)',
  'from epics import PV\nPV("X").value = 2',
  'from epics import PV\nsetattr(PV("X"), "value", 2)',
  'import importlib, epics\nimportlib.reload(epics).caput("X", 2)',
  'from lab import write_channel as w\nw("X", 2)',
  'import plant\nplant.Valve().open()',
];

test.each(WRITES)('O-131: %j is refused in a read-only run', async (code) => {
  await using session = await guarded();
  const { error } = await run(session, code);
  expect(error).toMatchObject({ name: 'WriteRefused' });
  const read = await run(session, 'import epics, lab\n(epics.caget("X"), lab.sent)');
  expect(read.results).toMatchObject([{ data: { 'text/plain': '(1, [])' } }]);
});

test.each(WRITES)('O-131: %j works without the guard', async (code) => {
  await using session = await host.createSession();
  for (const [path, source] of Object.entries(EPICS)) await session.files.upload(path, Buffer.from(source));
  expect(await run(session, code)).toMatchObject({ outcome: { status: 'succeeded' } });
});

test('O-132: a refusal is a PermissionError that names the mode and the way out', async () => {
  await using session = await guarded();
  const { error } = await run(session, 'import epics\nepics.caput("X", 2)');
  expect(error?.value).toBe(
    'epics.caput() is refused: this code runs in the mode read_only. ' +
      'Read only, or have an operator set execution_control.epics.writes_enabled to true.',
  );
  const caught = await run(session, 'try:\n    epics.caput("X", 2)\nexcept PermissionError:\n    print("caught")');
  expect(caught.logs.stdout).toBe('caught\n');
  await using enabled = await guarded('approval: {}\nexecution_control: { epics: { writes_enabled: true } }');
  const other = await run(enabled, 'import epics\nepics.caput("X", 2)');
  expect(other.error?.value).toMatch(/approved for the mode write_access/u);
});

test.each([
  'import subprocess\nsubprocess.run(["true"])',
  'import os\nos.system("true")',
  'from posix import system as s\ns("true")',
  'import os\nos.popen("true")',
  'import os\nos.execv("/bin/true", ["true"])',
  'import os\nos.spawnv(os.P_WAIT, "/bin/true", ["true"])',
  'import os\nos.posix_spawn("/bin/true", ["true"], {})',
  'import os\nif os.fork() == 0: os._exit(0)',
  'import pty\npty.spawn("true")',
  'import multiprocessing\nmultiprocessing.get_context("fork").Process(target=print).start()',
  'import _posixsubprocess\n_posixsubprocess.fork_exec()',
  'import ctypes\nctypes.CDLL(None)',
  'import ctypes\nctypes.pythonapi.Py_IsInitialized()',
])('O-131: %j is refused in a read-only run, and no process starts', async (code) => {
  await using session = await guarded();
  const { error } = await run(session, code);
  expect(error).toMatchObject({ name: 'WriteRefused', value: expect.stringContaining('mode read_only') as unknown });
});

test('libraries may load their own native code, reading works, and state is still guarded by a twin', async () => {
  await using session = await guarded();
  const code = `
import numpy as np, pandas as pd, matplotlib.pyplot as plt, platform, uuid, json, sqlite3
import numpy.ctypeslib
frame = pd.DataFrame({"a": np.arange(3)})
plt.plot(frame["a"]); platform.uname(); uuid.uuid4()
import epics, lab
total = (int(frame["a"].sum()), epics.PV("X").value, lab.read_channel("X"))
`;
  const first = await run(session, code);
  expect(first.error).toBeUndefined();
  const crash = await session.runCode('import os\nos._exit(3)');
  expect(crash.state).toMatchObject({ status: 'restored' });
  const after = await run(session, 'total');
  expect(after.results).toMatchObject([{ data: { 'text/plain': '(3, 1, 5)' } }]);
  expect((await run(session, 'epics.caput("X", 2)')).error?.name).toBe('WriteRefused');
});

test('the guard leaves no variables, tells the mode, and is back after a reset', async () => {
  await using session = await guarded();
  expect(await session.inspect()).toEqual([]);
  const mode = await session.runCode('import os; os.environ["VIVARIUM_EXECUTION_MODE"]');
  expect(mode.results).toMatchObject([{ data: { 'text/plain': "'read_only'" } }]);
  await session.reset();
  expect((await run(session, 'import epics\nepics.caput("X", 2)')).error?.name).toBe('WriteRefused');
});

test('OB-07: what was approved by name is let through, writes are not', async () => {
  await using session = await guarded(CONFIGURATION, { approved: ['process', 'native-code'] });
  const { error } = await run(
    session,
    'import subprocess, ctypes\nsubprocess.run(["true"], check=True)\nctypes.CDLL(None)',
  );
  expect(error).toBeUndefined();
  expect((await run(session, 'import epics\nepics.caput("X", 2)')).error?.name).toBe('WriteRefused');
});
