/**
 * The notice of read-only runs, in real sessions, against a package that looks like pyepics. It is a message: these are the
 * ways that people and models write code, not all ways that there are.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Execution } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import type { Session } from '../../host/session.ts';
import { loadConfiguration } from '../config/load.ts';
import { readOnlyNotice, type NoticeOptions } from './read-only-notice.ts';

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

async function readOnlySession(text = CONFIGURATION, options: NoticeOptions = {}): Promise<Session> {
  const configuration = await loadConfiguration({ text, environment: {} });
  const session = await host.createSession({ initCode: await readOnlyNotice(configuration, options) });
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
  'import timeit\ntimeit.timeit("import sys; sys.meta_path.pop(0); import epics; epics.caput(\'X\', 2)", number=1)',
  'import cProfile\ncProfile.run("import sys; sys.meta_path.pop(0); import epics; epics.caput(\'X\', 2)")',
  'import trace\ntrace.Trace(0, 0).run("import sys; sys.meta_path.pop(0); import epics; epics.PV(\'X\').put(2)")',
  'import sys, importlib\nsys.meta_path.pop(0)\nimportlib.import_module("epics").caput("X", 2)',
  'import sys\nsys.meta_path.sort(key=lambda one: isinstance(one, type), reverse=True)\nimport epics\nepics.caput("X", 2)',
  'from importlib.machinery import SourceFileLoader\nSourceFileLoader("device", "epics/ca.py").load_module().put("X", 2)',
  'import types\nfrom importlib.machinery import SourceFileLoader\nm = types.ModuleType("m")\nSourceFileLoader("m", "epics/ca.py").exec_module(m)\nm.put("X", 2)',
  'from importlib import util\nspec = util.spec_from_file_location("d", "lab.py")\nm = util.module_from_spec(spec)\nspec.loader.exec_module(m)\nm.write_channel("X", 2)',
  'import zipfile\nwith zipfile.ZipFile("a.zip", "w") as z: z.write("plant.py")\nimport zipimport\nzipimport.zipimporter("a.zip").load_module("plant").Valve().open()',
  'import sys, epics\nfor name in [n for n in sys.modules if n.startswith("epics")]: del sys.modules[name]\nsys.meta_path.pop(0)\nimport epics\nepics.caput("X", 2)',
  'import io, pickle, pandas\nclass Hidden:\n    def __reduce__(self): return exec, ("import sys; sys.meta_path.pop(0); import epics; epics.caput(\'X\', 2)",)\npandas.read_pickle(io.BytesIO(pickle.dumps(Hidden())), compression=None)',
];

test.each(WRITES)('O-131: %j is refused in a read-only run', async (code) => {
  await using session = await readOnlySession();
  const { error } = await run(session, code);
  expect(error).toMatchObject({ name: 'WriteRefused' });
  const read = await run(session, 'import epics, lab\n(epics.caget("X"), lab.sent)');
  expect(read.results).toMatchObject([{ data: { 'text/plain': '(1, [])' } }]);
});

/** Where the refusal is caught by what ran the code: only that nothing was written can be seen. */
const WRITES_IN_SILENCE = [
  'import io, pickle, numpy, sys\nclass Hidden:\n    def __reduce__(self): return exec, ("import sys; sys.meta_path.pop(0); import epics; epics.caput(\'X\', 2)",)\nnumpy.load(io.BytesIO(pickle.dumps(Hidden())), allow_pickle=True)',
  'import doctest, types\nm = types.ModuleType("m", ">>> import sys; _ = sys.meta_path.pop(0); import epics; epics.caput(\'X\', 2)\\n")\ndoctest.testmod(m)\n1/0',
  'import epics\ntry: vars(epics)["cap" + "ut"]("X", 2)\nfinally: 1/0',
  'import threading\ndef write():\n    import epics\n    epics.caput("X", 2)\nthread = threading.Thread(target=write)\nthread.start()\nthread.join()\n1/0',
];

test.each(WRITES_IN_SILENCE)('%j writes nothing in a read-only run', async (code) => {
  await using session = await readOnlySession();
  expect((await run(session, code)).error).toBeDefined();
  const read = await run(session, 'import epics\nepics.caget("X")');
  expect(read.results).toMatchObject([{ data: { 'text/plain': '1' } }]);
});

test.each(WRITES)('O-131: %j works without the notice', async (code) => {
  await using session = await host.createSession();
  for (const [path, source] of Object.entries(EPICS)) await session.files.upload(path, Buffer.from(source));
  expect(await run(session, code)).toMatchObject({ outcome: { status: 'succeeded' } });
});

test('O-132: a refusal is a PermissionError that names the mode and the way out', async () => {
  await using session = await readOnlySession();
  const { error } = await run(session, 'import epics\nepics.caput("X", 2)');
  expect(error?.value).toBe(
    'epics.caput() is refused: this code runs in the mode read_only. ' +
      'Read only, or have an operator set execution_control.epics.writes_enabled to true.',
  );
  const caught = await run(session, 'try:\n    epics.caput("X", 2)\nexcept PermissionError:\n    print("caught")');
  expect(caught.logs.stdout).toBe('caught\n');
  await using enabled = await readOnlySession('approval: {}\nexecution_control: { epics: { writes_enabled: true } }');
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
  await using session = await readOnlySession();
  const { error } = await run(session, code);
  expect(error).toMatchObject({ name: 'WriteRefused', value: expect.stringContaining('mode read_only') as unknown });
});

test('libraries may load their own native code, reading works, and state is still protected by a twin', async () => {
  await using session = await readOnlySession();
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

test('the notice leaves no variables, tells the mode, and is back after a reset', async () => {
  await using session = await readOnlySession();
  expect(await session.inspect()).toEqual([]);
  const mode = await session.runCode('import os; os.environ["VIVARIUM_EXECUTION_MODE"]');
  expect(mode.results).toMatchObject([{ data: { 'text/plain': "'read_only'" } }]);
  await session.reset();
  expect((await run(session, 'import epics\nepics.caput("X", 2)')).error?.name).toBe('WriteRefused');
});

test('OB-07: what was approved by name is let through, writes are not', async () => {
  await using session = await readOnlySession(CONFIGURATION, { approved: ['process', 'native-code'] });
  const { error } = await run(
    session,
    'import subprocess, ctypes\nsubprocess.run(["true"], check=True)\nctypes.CDLL(None)',
  );
  expect(error).toBeUndefined();
  expect((await run(session, 'import epics\nepics.caput("X", 2)')).error?.name).toBe('WriteRefused');
});
