/** What the analysis finds in code, with real Python. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import { Examiner } from './examine.ts';
import { tidy, type CodeFinding } from './finding.ts';
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
  expect(await messagesIn('%matplotlib inline')).toEqual([
    'Syntax error at line 2: notebook magics are not Python: %matplotlib',
  ]);
  expect(await messagesIn('!pip install numpy')).toEqual([
    'Syntax error at line 2: shell commands are not Python: !pip',
  ]);
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
  ['import pickle\npickle.loads(b"")', 'makes-code', 'pickle.loads'],
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
    expect.objectContaining({ kind: 'dynamic', severity: 'warning', line: 3 }),
  );
  expect(await messagesIn('import importlib\nimportlib.import_module(name)')).toEqual([
    'Warning: dynamic call: the code imports a module by a name that is only known when it runs',
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
