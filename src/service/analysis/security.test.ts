/** What the analysis finds in code, with real Python. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import { Examiner } from './examine.ts';
import { securityRiskLevel, tidy, type CodeFinding } from './finding.ts';
import { securityFindings } from './security.ts';

let host: Host;
let examiner: Examiner;
beforeAll(async () => {
  host = await createHost({
    preload: [],
    initCode: 'raise SystemExit("init code has no business here")',
  });
  examiner = new Examiner(host);
});
afterAll(() => host?.close());

async function findingsIn(code: string): Promise<CodeFinding[]> {
  return tidy(securityFindings(await examiner.examine(`results = {}\n${code}`)));
}

async function messagesIn(code: string): Promise<string[]> {
  return (await findingsIn(code)).map(({ message }) => message);
}

test('O-65: a syntax error is an issue with its line', async () => {
  const findings = securityFindings(await examiner.examine('x = 1\nx = = 2'));
  expect(findings).toEqual([
    {
      kind: 'syntax',
      rule: 'syntax',
      severity: 'error',
      line: 2,
      message: 'Syntax error at line 2: invalid syntax',
      name: null,
    },
  ]);
});

test.for([
  ['!rm -r data', 'starts-process', 1],
  ['files = !ls', 'starts-process', 1],
  ['for f in given:\n    !cat {f}', 'starts-process', 2],
  ['pip install x', 'starts-process', 1],
  ['%pip install x', 'starts-process', 1],
  ['%sx ls', 'starts-process', 1],
  ['%rm x', 'starts-process', 1],
  ['%cd {eval("x")}', 'runs-text', 1],
  ['%time eval("x")', 'runs-text', 1],
  ['%timeit -n 5 eval("x")', 'runs-text', 1],
  ['%run other.py', 'runs-text', 1],
  ['%who\n%magic_of_somebody x', 'runs-text', 2],
  ['%config X.y = f()', 'runs-text', 1],
  ['%pinfo f()', 'runs-text', 1],
  ['get_ipython().system("ls")', 'reaches-notebook', 1],
  ['[get_ipython()][0].system("ls")', 'reaches-notebook', 1],
  ['from IPython import get_ipython as g\ng().getoutput("ls")', 'runs-text', 2],
] as const)('a notebook line is analyzed for what it does: %s', async ([code, rule, line]) => {
  const findings = securityFindings(await examiner.examine(code));
  expect(findings.map((finding) => [finding.rule, finding.line])).toContainEqual([rule, line]);
  expect(findings.some(({ kind }) => kind === 'syntax')).toBe(false);
});

test.for([
  ['%%bash\nrm -r data', 'starts-process', 1],
  ['%%script perl\nunlink "x"', 'starts-process', 1],
  ['%%capture {eval("x")}\n1', 'runs-text', 1],
  ['%%time\n\nimport os\nos.system("x")', 'starts-process', 4],
  ['%%capture out\n!ls', 'starts-process', 2],
  ['%%timeit eval("x")\n1', 'runs-text', 1],
  ['%%timeit\neval("x")', 'runs-text', 2],
  ['%%writefile x.py\nimport os', 'opens-to-write', 1],
] as const)('a cell magic is analyzed with its cell: %s', async ([code, rule, line]) => {
  const findings = securityFindings(await examiner.examine(code));
  expect(findings.map((finding) => [finding.rule, finding.line])).toContainEqual([rule, line]);
});

test('magics without an effect are no finding, and the code around them is analyzed', async () => {
  const code = '%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n%who\nresults = {}\n%time results["x"] = 1';
  expect(securityFindings(await examiner.examine(code))).toEqual([]);
  expect(securityFindings(await examiner.examine('%matplotlib inline\nx = = 1'))).toMatchObject([{ line: 2 }]);
  expect(securityFindings(await examiner.examine('x = 1\n%%time\n2'))).toMatchObject([{ rule: 'syntax', line: 2 }]);
});

const DANGEROUS: readonly (readonly [code: string, rule: string, name: string])[] = [
  ['exec("1")', 'runs-text', 'builtins.exec'],
  ['eval("1")', 'runs-text', 'builtins.eval'],
  ['import builtins as b\nb.eval("1")', 'runs-text', 'builtins.eval'],
  ['list(map(eval, ["1"]))', 'runs-text', 'builtins.eval'],
  ['import os\nos.system("x")', 'starts-process', 'os.system'],
  ['import os as o\no.popen("x")', 'starts-process', 'os.popen'],
  ['import os\ngetattr(os, "sys" + "tem")("x")', 'starts-process', 'os.system'],
  ['import posix\nposix.execv("x", [])', 'starts-process', 'posix.execv'],
  ['import subprocess as s\ns.run(["ls"])', 'starts-process', 'subprocess.run'],
  ['from subprocess import *\ncheck_output("ls")', 'starts-process', 'subprocess.check_output'],
  ['import importlib\nimportlib.import_module("subprocess").Popen("x")', 'starts-process', 'subprocess.Popen'],
  ['__import__("subprocess").call("x")', 'starts-process', 'subprocess.call'],
  ['import ctypes\nctypes.CDLL(None)', 'loads-native-code', 'ctypes.CDLL'],
  ['().__class__.__base__.__subclasses__()', 'reaches-interpreter', '?.__subclasses__'],
  ['__import__("json")', 'imports-by-name', 'builtins.__import__'],
  ['import pickle\npickle.loads(b"")', 'unpickles', 'pickle.loads'],
  ['import requests\nrequests.get("http://x")', 'uses-network', 'requests.get'],
  ['from urllib.request import urlopen\nurlopen("http://x")', 'uses-network', 'urllib.request.urlopen'],
  ['import shutil\nshutil.rmtree("x")', 'removes-files', 'shutil.rmtree'],
  ['from pathlib import Path\nPath("x").unlink()', 'removes-files', 'pathlib.Path().unlink'],
  ['from pathlib import Path\nPath("x").write_text("y")', 'writes-files', 'pathlib.Path().write_text'],
  ['df.to_csv("x.csv")', 'writes-table', 'df.to_csv'],
  ['import matplotlib.pyplot as plt\nplt.savefig("x.png")', 'writes-files', 'matplotlib.pyplot.savefig'],
  ['import os\n[os][0].system("x")', 'may-start-process', '?.system'],
  ['open("x", "w")', 'opens-to-write', 'builtins.open'],
  ['open("x", mode)', 'opens-to-write', 'builtins.open'],
  ['import gzip\ngzip.open("x", "ab")', 'opens-to-write', 'gzip.open'],
];

test.each(DANGEROUS)('U-60: %j is found by the rule %s', async (code, rule, name) => {
  expect(await findingsIn(code)).toContainEqual(expect.objectContaining({ rule, name }));
});

/** Everything here runs text or data as code, or takes it out of a module unseen. It is as risky as `exec`. */
const AS_RISKY_AS_EXEC: readonly (readonly [code: string, rule: string])[] = [
  ['import timeit\ntimeit.timeit("x")', 'runs-text'],
  ['from timeit import Timer as T\nT("x").timeit()', 'runs-text'],
  ['import cProfile\ncProfile.run("x")', 'runs-text'],
  ['import profile\nprofile.Profile().runctx("x", {}, {})', 'runs-text'],
  ['import trace\ntrace.Trace().run("x")', 'runs-text'],
  ['import bdb\nbdb.Bdb().run("x")', 'runs-text'],
  ['import pdb\npdb.runeval("x")', 'runs-text'],
  ['import doctest, sys\ndoctest.testmod(given)', 'runs-text'],
  ['import runpy\nrunpy.run_path("x.py")', 'runs-text'],
  ['import code\ncode.InteractiveConsole().push("x")', 'runs-text'],
  ['def make():\n    return given\nmake().runsource("x")', 'runs-text'],
  ['import logging.config\nlogging.config.dictConfig({})', 'runs-text'],
  ['import typing\ndef f(a: "x()"): pass\ntyping.get_type_hints(f)', 'runs-text'],
  ['import pandas as pd\npd.eval("x")', 'runs-text'],
  ['from PIL import ImageMath\nImageMath.unsafe_eval("x")', 'runs-text'],
  ['get_ipython().run_cell("x")', 'runs-text'],
  ['from importlib.machinery import SourceFileLoader as L\nL("m", "x.py").load_module()', 'loads-code'],
  ['import importlib.util as u\nu.spec_from_file_location("m", "x.py")', 'loads-code'],
  ['import json\njson.__loader__.load_module("json")', 'loads-code'],
  ['import json\njson.__spec__.loader.exec_module(json)', 'loads-code'],
  ['import zipimport\nzipimport.zipimporter("x")', 'loads-code'],
  ['import sys\nsys.meta_path.pop(0)', 'loads-code'],
  ['import pickle\npickle.Unpickler(f).load()', 'unpickles'],
  ['import _pickle\n_pickle.loads(b"")', 'unpickles'],
  ['import marshal\nmarshal.load(f)', 'unpickles'],
  ['import shelve\nshelve.open("x")', 'unpickles'],
  ['import joblib\njoblib.load("x")', 'unpickles'],
  ['import cloudpickle\ncloudpickle.loads(b"")', 'unpickles'],
  ['import dill\ndill.load(f)', 'unpickles'],
  ['import pandas as pd\npd.read_pickle("x")', 'unpickles'],
  ['import pandas\npandas.io.pickle.read_pickle("x")', 'unpickles'],
  ['import statsmodels.api as sm\nsm.load("x")', 'unpickles'],
  ['import tracemalloc\ntracemalloc.Snapshot.load("x")', 'unpickles'],
  ['import multiprocessing.connection as c\nc.Client("x").recv()', 'unpickles'],
  ['import numpy as np\nnp.load("x", allow_pickle=True)', 'may-unpickle'],
  ['import numpy as np\nnp.load("x", allow_pickle=given)', 'may-unpickle'],
  ['import numpy as np\nnp.load("x", None, True)', 'may-unpickle'],
  ['import numpy as np\nnp.load("x", **given)', 'may-unpickle'],
  ['import numpy as np\nread = np.load', 'may-unpickle'],
  ['import numpy as np, functools\nfunctools.partial(np.load, allow_pickle=True)("x")', 'may-unpickle'],
  ['import pandas as pd\ndf = pd.DataFrame()\ndf.query("@f(1)")', 'runs-expression'],
  ['import pandas as pd\ndef f(df):\n    return df.eval("@os.system(\'x\')")', 'runs-expression'],
  ['import pandas as pd\ndf = pd.DataFrame()\ndf.query(given)', 'runs-expression'],
  ['import pandas as pd\npd.DataFrame().query("a.__class__")', 'runs-expression'],
  ['import statsmodels.formula.api as smf\nsmf.ols("y ~ os.system(1)", df)', 'runs-expression'],
  ['import statsmodels.formula.api as smf\nsmf.ols(formula=given, data=df)', 'runs-expression'],
  ['import patsy\npatsy.dmatrix("f(x)", df)', 'runs-expression'],
  ['import patsy\npatsy.dmatrix(r\'Q("a\\"") + f(x) + Q("b")\', df)', 'runs-expression'],
  ['import types\ntypes.LambdaType(c, {})()', 'makes-code'],
  ['import string, os\nstring.Formatter().get_field("0.system", (os,), {})', 'looks-up-text'],
  ['import os\nlist(map(getattr, [os], ["system"]))', 'passes-lookup'],
  ['import os\ngetattr(os, given)', 'dynamic-getattr'],
  ['import os\nf = vars(os)[given]\nf("x")', 'dynamic-getattr'],
  ['import os\nf = os.__dict__[given]', 'dynamic-getattr'],
  ['import os\nvars(os).get(given)("x")', 'dynamic-getattr'],
  ['import os\n[f for n, f in vars(os).items() if n[0] == "s"][0]("x")', 'dynamic-getattr'],
  ['import os\nd = dict(os.__dict__)', 'dynamic-getattr'],
  ['import os\nos.__getattribute__(given)("x")', 'dynamic-getattr'],
  ['import os, operator\noperator.attrgetter(given)(os)("x")', 'dynamic-getattr'],
  ['import os, inspect\ninspect.getmembers(os)', 'dynamic-getattr'],
  ['__builtins__[given]("x")', 'dynamic-getattr'],
  ['import builtins\nbuiltins.__dict__[given]("x")', 'dynamic-getattr'],
  ['globals()[given]("x")', 'dynamic-getattr'],
  ['import sys\nm = sys.modules[given]', 'dynamic-import'],
  ['import sys\nm = list(sys.modules.values())[3]', 'dynamic-getattr'],
  ['try:\n    1/0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_globals', 'reaches-interpreter'],
];

test.each(AS_RISKY_AS_EXEC)('%j is as risky as exec, by the rule %s', async (code, rule) => {
  const findings = await findingsIn(code);
  expect(findings).toContainEqual(expect.objectContaining({ rule, severity: 'error' }));
  expect(securityRiskLevel(findings)).toBe('high');
});

test.each([
  ['import os\nos.__getattribute__("sys" + "tem")("x")', 'starts-process'],
  ['import os, types\ntypes.ModuleType.__getattribute__(os, "system")("x")', 'starts-process'],
  ['import builtins\nvars(builtins)["ex" + "ec"]("x")', 'runs-text'],
  ['__builtins__["eval"]("x")', 'runs-text'],
  ['globals()["__builtins__"]["exec"]("x")', 'runs-text'],
])('%j is found by the rule %s under the name that it has', async (code, rule) => {
  expect(await findingsIn(code)).toContainEqual(expect.objectContaining({ rule, severity: 'error' }));
});

test.each([
  'import numpy as np\nnp.load("x.npy")\nnp.load("x", allow_pickle=False)\nnp.load("x", mmap_mode="r")',
  'import pandas as pd\ndf = pd.read_csv("x")\ndf.query("a > 1 and b in @known")\ndf.eval("c = a + b")',
  'import pandas as pd\ndf = pd.read_csv("x")\ndf.query("`unit (mm)` > 1 and name == \'f(x)\'")',
  'import pandas as pd\ndf = pd.read_csv("x")\ndf.query("name.str.contains(\'a\') & (b.isnull())")',
  'import statsmodels.formula.api as smf\nsmf.ols("y ~ np.log(x) + C(group) + I(x**2)", df).fit()',
  'import timeit\nstart = timeit.default_timer()',
  'import cProfile\nwith cProfile.Profile() as p:\n    pass',
  'import pickle\npickle.dump(1, f)',
  'import logging\nlogging.basicConfig()',
  'from typing import List, Optional\nx: Optional[List[int]] = None',
  'import sys\nif "pandas" in sys.modules: pass\nsys.path.append("x")',
  'class A:\n    def get(self, name):\n        return self.__dict__[name] or vars(self).get(name)',
  'import inspect\ninspect.getmembers(given)\ninspect.signature(f)',
  'import importlib\nimportlib.import_module("json").dumps(1)',
  'import json, os\nos.environ["HOME"]\ngetattr(json, "dumps")(1)\nvars(json)["dumps"](1)',
  'df = {"a": 1}\nkey = given\ndf[key]\nglobals()["df"]',
  'from operator import attrgetter, itemgetter\nsorted(rows, key=attrgetter("size"))\nsorted(rows, key=itemgetter(n))',
  'class B:\n    def __getattr__(self, name):\n        return super().__getattribute__(name)',
])('everyday code raises no alarm: %j', async (code) => {
  expect((await findingsIn(code)).filter(({ severity }) => severity === 'error')).toEqual([]);
});

test('O-66, O-67: messages are those that users know', async () => {
  expect(await messagesIn('eval("1")')).toEqual(['Security risk: eval() runs text as code']);
  expect(await messagesIn('import subprocess')).toEqual(['Prohibited import detected: subprocess']);
  expect(await messagesIn('from os import system')).toEqual(['Prohibited import detected: os.system']);
  expect(await messagesIn('open("f", "w")')).toEqual(["Warning: open() writes a file (mode 'w')"]);
});

test.each([
  'model.eval()',
  'df.eval("a + b")',
  'import torch\nmodel = torch.nn.Linear(1, 1)\nmodel.eval()',
  'import queue\nq = queue.Queue()\nq.put(1)\nq.get()',
  'd = {"a": 1}\nd.get("a")',
  'from PIL import Image\nImage.open("x.png")',
  'open("data.csv").read()',
  'with open("data.csv") as f:\n    f.read()',
  'with open("data.csv", "rb") as f:\n    f.read()',
  '# os.system("rm"), eval(, exec(, subprocess',
  's = "eval(1) exec(2) os.system subprocess __import__"',
  '"""Never call os.system() or\nsubprocess.run()."""',
  'def executor(shell):\n    return shell',
  'import re\nre.compile("x")',
  'import os, platform\nplatform.system()',
  'import pandas as pd\nprint(pd.DataFrame({"a": [1]}).to_csv())\npd.DataFrame().replace(1, 2).rename(columns={})',
  'x = "a,b".replace(",", ";")',
  'import os\nos.path.join("a", "b")\nos.listdir(".")',
  'import numpy as np\nnp.zeros(3).ctypes',
  'for name in names:\n    getattr(row, name)',
  'class A:\n    def __init__(self):\n        self.__dict__.update(a=1)',
])('OB-07: %j raises no alarm', async (code) => {
  expect(await findingsIn(code)).toEqual([]);
});

test('what cannot be resolved is called dynamic', async () => {
  expect(await findingsIn('import os\ngetattr(os, name)("x")')).toContainEqual(
    expect.objectContaining({ kind: 'dynamic', severity: 'error', line: 3 }),
  );
  expect(await messagesIn('import importlib\nimportlib.import_module(name)')).toEqual([
    'Security risk: dynamic call: the code imports a module by a name that is only known when it runs',
  ]);
});

test('the structure of results is looked at', async () => {
  const rulesOf = async (code: string) => securityFindings(await examiner.examine(code)).map(({ message }) => message);
  expect(await rulesOf('x = 1')).toEqual(['The code assigns no dictionary named results at its top level']);
  expect(await rulesOf('results = [1]')).toEqual(['The variable results is not a dictionary']);
  expect(await rulesOf('results = compute()')).toEqual([]);
});

test.each([
  ['100,000 parentheses', '('.repeat(100_000) + ')'.repeat(100_000)],
  ['100,000 minus signs', `${'-'.repeat(100_000)}1`],
  ['ten megabytes', 'x = 1\n'.repeat(1_700_000)],
  ['null bytes', 'x = 1\0'],
  ['lone surrogates', 'x = "\ud800"'],
  ['100,000 attributes', `a${'.b'.repeat(100_000)}`],
  ['a terminal escape', 'x = = "\u001b[31m'],
])('hostile source is answered with an issue: %s', async (_, code) => {
  const findings = securityFindings(await examiner.examine(code));
  expect(findings).toMatchObject([{ kind: 'syntax', severity: 'error' }]);
  expect(findings[0]?.message).toMatch(/^Syntax error(?: at line \d+)?: [\x20-\x7E]+$/u);
});

test('a name beyond what is looked at is a high risk, not nothing', async () => {
  const code = Array.from({ length: 5000 }, (_, n) => `f${n}()`).join('\n');
  expect(await findingsIn(code)).toMatchObject([{ rule: 'too-many-names', severity: 'error' }]);
});

test('an analysis that takes too long is an issue, and one that is given up rejects', async () => {
  const hasty = new Examiner(host, { timeoutMs: 1 });
  const facts = await hasty.examine('x = [\n' + '1 + 1,\n'.repeat(30_000) + ']');
  expect(facts.syntax[0]?.message).toMatch(/could not be analyzed: it timed out after 1 ms/u);
  await expect(examiner.examine('1', { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
});
