/** Every name of every rule, in programs that the real analyzer reads. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Host } from '../../host/host.ts';
import { createHost } from '../../host/local/local-host.ts';
import { Examiner } from './examine.ts';
import type { CodeFinding, Severity } from './finding.ts';
import { NAME_RULES, OPENERS, PROCESS_STARTERS, PROHIBITED_IMPORTS, type NameRule } from './security-rules.ts';
import { securityFindings } from './security.ts';

let host: Host;
let examiner: Examiner;
beforeAll(async () => {
  host = await createHost({ preload: [] });
  examiner = new Examiner(host);
});
afterAll(() => host?.close());

async function findingsIn(code: string): Promise<CodeFinding[]> {
  return securityFindings(await examiner.examine(`results = {}\n${code}`));
}

/** A call of a name as a rule writes it: `os.system`, `subprocess.*`, `?.savefig`, `pathlib.Path().unlink`, `builtins.eval`. */
function callOf(
  name: string,
  { onlyWith, onlyMentioned }: Pick<NameRule, 'onlyWith' | 'onlyMentioned'> = {},
): { readonly code: string; readonly resolved: string } {
  const full = name.replace(/\*$/u, 'anything');
  if (full.startsWith('?.')) return { code: `given${full.slice(1)}(1)`, resolved: `given${full.slice(1)}` };
  const call = onlyMentioned === true ? '' : onlyWith === undefined ? '(1)' : `(1, ${onlyWith}=True)`;
  if (full.startsWith('builtins.')) return { code: `${full.slice('builtins.'.length)}${call}`, resolved: full };
  const [module = ''] = full.split(/\.(?=[A-Z]|[^.]*$)/u);
  return { code: `import ${module}\n${full.replaceAll('()', '(1)')}${call}`, resolved: full };
}

/** What each rule says, so that a rule whose kind or severity is changed by mistake is noticed. */
const EXPECTED: Readonly<Record<string, readonly [kind: string, severity: Severity, message: RegExp]>> = {
  'runs-text': ['code-execution', 'error', /^Security risk: .* runs text as code$/u],
  'reaches-notebook': ['code-execution', 'error', /^Security risk: .* gives access to magics and to the shell$/u],
  'loads-code': ['code-execution', 'error', /^Security risk: .* loads code past the import statement$/u],
  unpickles: ['code-execution', 'error', /^Security risk: .* can run code that is hidden in data$/u],
  'may-unpickle': ['code-execution', 'error', /^Security risk: .* can run code that is hidden in data$/u],
  'looks-up-text': ['dynamic', 'error', /^Security risk: .* takes an attribute by a path in text$/u],
  'passes-lookup': ['dynamic', 'error', /^Security risk: .* is handed on, so that the names it takes are not known$/u],
  'starts-process': ['process', 'error', /^Security risk: .* starts a process$/u],
  'loads-native-code': ['native-code', 'error', /^Security risk: .* reaches native code past Python$/u],
  'reaches-interpreter': ['introspection', 'error', /^Security risk: .* reaches into the interpreter$/u],
  'starts-workers': ['process', 'warning', /^Security risk: .* starts worker processes$/u],
  'imports-by-name': ['code-execution', 'warning', /^Security risk: .* imports a module by a name in text$/u],
  'makes-code': ['code-execution', 'error', /^Security risk: .* makes code that can be run$/u],
  'inspects-interpreter': ['introspection', 'warning', /^Security risk: .* inspects the interpreter$/u],
  'uses-network': ['network', 'warning', /^Warning: .* uses the network$/u],
  'removes-files': ['file-removal', 'warning', /^Warning: .* removes, moves or changes files$/u],
  'writes-files': ['file-write', 'info', /^Note: .* writes files$/u],
  'writes-table': ['file-write', 'info', /^Note: .* writes a file$/u],
};

/** How many names each list has. Names are only removed on purpose: the tests below follow the lists. */
const COUNTS: Readonly<Record<string, number>> = {
  'runs-text': 69,
  'reaches-notebook': 2,
  'loads-code': 42,
  unpickles: 69,
  'may-unpickle': 7,
  'looks-up-text': 5,
  'passes-lookup': 4,
  'starts-process': 50,
  'loads-native-code': 3,
  'reaches-interpreter': 12,
  'starts-workers': 5,
  'imports-by-name': 2,
  'makes-code': 5,
  'inspects-interpreter': 5,
  'uses-network': 19,
  'removes-files': 25,
  'writes-files': 32,
  'writes-table': 11,
};

test('no name was lost from a rule, from the imports, the openers or the starters', () => {
  expect(Object.fromEntries(NAME_RULES.map(({ rule, names }) => [rule, names.length]))).toEqual(COUNTS);
  expect([PROHIBITED_IMPORTS.length, OPENERS.size, PROCESS_STARTERS.size]).toEqual([52, 13, 25]);
});

test('every rule is expected here, and no name belongs to two rules', () => {
  expect(NAME_RULES.map(({ rule }) => rule)).toEqual(Object.keys(EXPECTED));
  const names = NAME_RULES.flatMap((rule) => rule.names);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

describe.for(NAME_RULES.map((rule): [string, NameRule] => [rule.rule, rule]))('The rule %s', ([name, rule]) => {
  test(`finds a call of each of its ${rule.names.length} names`, async () => {
    const [kind, severity, message] = EXPECTED[name] ?? ['', 'info', /^$/u];
    const calls = rule.names.map((one) => callOf(one, rule));
    const findings = await findingsIn(calls.map(({ code }) => code).join('\n'));
    for (const { resolved } of calls) {
      expect(findings, resolved).toContainEqual(
        expect.objectContaining({ rule: name, kind, severity, message: expect.stringMatching(message) as string }),
      );
      const isDunder = resolved.includes('__') && resolved.startsWith('given');
      const found = isDunder ? `?${resolved.slice('given'.length)}` : resolved;
      expect(findings.filter((one) => one.rule === name).map((one) => one.name)).toContain(found);
    }
  });
});

/** For each rule, code beside what it is about. */
const INNOCENT: readonly (readonly [rule: string, code: string])[] = [
  ['runs-text', 'frame.eval("a + b")\nmodel.eval()\nimport ast\nast.literal_eval("1")'],
  ['runs-text', 'def eval(text):\n    return text\neval("1")'],
  ['starts-process', 'import os\nos.getcwd()\nos.path.exists("x")\nos.environ.get("HOME")\nos.cpu_count()'],
  ['starts-process', 'import asyncio\nasyncio.run(main())\nasyncio.create_task(main())'],
  ['loads-native-code', 'import numpy\nnumpy.zeros(3).ctypes.data\nmy.ctypes.CDLL(1)'],
  ['reaches-interpreter', 'given.__class__\ngiven.__dict__\ngiven.__name__\ngiven.__doc__'],
  ['starts-workers', 'import multiprocessing, concurrent.futures\nmultiprocessing.cpu_count()'],
  ['starts-workers', 'from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(2)'],
  ['imports-by-name', 'import importlib\nimportlib.reload(given)\nimportlib.metadata.version("numpy")'],
  ['makes-code', 'import re, types\nre.compile("x")\ntypes.SimpleNamespace()'],
  [
    'unpickles',
    'import pickle, marshal, joblib, yaml\npickle.dumps(1)\nmarshal.dumps(1)\njoblib.dump(1, "x")\nyaml.safe_load("x")',
  ],
  ['loads-code', 'import importlib, sys\nimportlib.import_module("json")\nimportlib.util.find_spec("json")\nsys.path'],
  ['looks-up-text', 'import string\nstring.Formatter().format("{}", 1)\n"{0.real}".format(1)'],
  ['passes-lookup', 'getattr(given, "x")\nglobals()\nlocals()["x"]'],
  ['inspects-interpreter', 'import sys, gc\nsys.version\nsys.getsizeof(1)\ngc.collect()'],
  [
    'uses-network',
    'import socket, urllib.parse, http\nsocket.gethostname()\nurllib.parse.quote("x")\nhttp.HTTPStatus(200)',
  ],
  [
    'removes-files',
    'text.replace("a", "b")\nframe.rename(columns={})\nimport os, shutil\nos.stat("x")\nshutil.which("x")',
  ],
  ['writes-files', 'import numpy, shutil\nnumpy.load("x")\nnumpy.loadtxt("x")\nshutil.disk_usage("/")'],
  ['writes-files', 'from pathlib import Path\nPath("x").read_text()\nPath("x").exists()'],
  ['writes-table', 'text = frame.to_csv()\nhtml = frame.to_html()\nframe.to_numpy()\nframe.to_dict("records")'],
  ['opens-to-write', 'open("x")\nopen("x", "r")\nopen("x", mode="rb")\nimport gzip\ngzip.open("x", "rt")'],
  ['may-start-process', 'import platform\n[platform][0].system()'],
  ['prohibited-import', 'import os, sys, json\nfrom os import path\nimport my.subprocess'],
];

test.for(INNOCENT)('The rule %s has nothing to say about %j', async ([rule, code]) => {
  expect((await findingsIn(code)).filter((finding) => finding.rule === rule)).toEqual([]);
});

test('a table that is written to a file is a finding, one that becomes text is not', async () => {
  const rules = async (call: string): Promise<string[]> => (await findingsIn(call)).map(({ rule }) => rule);
  expect(await rules('frame.to_csv()')).toEqual([]);
  expect(await rules('frame.to_csv("x.csv")')).toEqual(['writes-table']);
  expect(await rules('frame.to_csv(path_or_buf="x.csv")')).toEqual(['writes-table']);
  expect(await rules('write = frame.to_csv')).toEqual(['writes-table']); // who knows how it is called later
});

test('each import of the list is found, in both forms', async () => {
  const code = PROHIBITED_IMPORTS.map((name) => {
    const dot = name.lastIndexOf('.');
    return dot < 0 ? `import ${name}` : `from ${name.slice(0, dot)} import ${name.slice(dot + 1)}`;
  });
  const found = (await findingsIn(code.join('\n'))).filter(({ rule }) => rule === 'prohibited-import');
  expect(found.map(({ name }) => name)).toEqual([...PROHIBITED_IMPORTS]);
  expect(found.map(({ line }) => line)).toEqual(PROHIBITED_IMPORTS.map((_, index) => index + 2));
  expect(found.every(({ severity, kind }) => severity === 'warning' && kind === 'import')).toBe(true);
});

describe('opening a file', () => {
  const called = (name: string, mode: string): string => {
    const { code } = callOf(name);
    const path = name.includes('()') ? '' : '"x", '; // a Path knows its own
    return code.replace(/\(1\)$/u, `(${path}${mode})`);
  };

  test.for([...OPENERS].filter((name) => name !== '?.open'))('%s is found by its mode', async (name) => {
    const rules = async (mode: string): Promise<string[]> =>
      (await findingsIn(called(name, mode)))
        .filter(({ rule }) => rule === 'opens-to-write')
        .map(({ message }) => message);
    expect(await rules('"r"')).toEqual([]);
    expect(await rules('"w"')).toEqual([expect.stringContaining("writes a file (mode 'w')")]);
    expect(await rules('given')).toEqual([expect.stringContaining('may write a file: its mode is not known')]);
  });

  test('by a member of an unknown object is found by its mode as well', async () => {
    expect(await findingsIn('[given][0].open("data.csv", "w")')).toContainEqual(
      expect.objectContaining({ rule: 'opens-to-write', message: "Warning: .open() writes a file (mode 'w')" }),
    );
    expect(await findingsIn('[given][0].open("data.csv", "r")')).toEqual([]);
  });

  test.for([
    ['"a"', true],
    ['"x"', true],
    ['"r+"', true],
    ['"wb"', true],
    ['"rb"', false],
    ['"rt"', false],
  ] as const)('the mode %s writes: %s', async ([mode, writes]) => {
    const findings = await findingsIn(`open("x", ${mode})`);
    expect(findings.some(({ rule }) => rule === 'opens-to-write')).toBe(writes);
  });
});

test('a member of an unknown object may start a process only where such a module is imported', async () => {
  const calls = [...PROCESS_STARTERS].map((name) => `[given][0].${name}("x")`).join('\n');
  const rules = async (module: string): Promise<string[]> =>
    (await findingsIn(`import ${module}\n${calls}`)).flatMap(({ rule, name }) =>
      rule === 'may-start-process' ? [String(name)] : [],
    );
  expect(await rules('json')).toEqual([]);
  for (const module of ['os', 'posix', 'subprocess', 'os.path']) {
    expect(await rules(module)).toEqual([...PROCESS_STARTERS].map((name) => `?.${name}`));
  }
});

test('mentioning a function is a finding as well, and assigning to its name is not', async () => {
  expect(await findingsIn('import os\nrun = os.system')).toContainEqual(
    expect.objectContaining({ rule: 'starts-process', message: 'Security risk: os.system starts a process' }),
  );
  expect(await findingsIn('import lab\nlab.system = 1\nlab.unlink = 2')).toEqual([]);
});

test.for([
  ['import importlib\nimportlib.import_module(given)', 'dynamic-import', 'imports a module'],
  ['import os\ngetattr(os, given)', 'dynamic-getattr', 'takes an attribute'],
  ['import os\ngetattr(os, given)("x")', 'dynamic-call', 'calls a function'],
] as const)('%j is dynamic by the rule %s', async ([code, rule, what]) => {
  expect(await findingsIn(code)).toContainEqual({
    kind: 'dynamic',
    rule,
    severity: 'error',
    line: 3,
    message: `Security risk: dynamic call: the code ${what} by a name that is only known when it runs`,
    name: null,
  });
});
