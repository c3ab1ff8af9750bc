/** Jupyter accepts the notebook of a session, and running it there shows the same again. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest';
import { createHost, type Host, type Notebook, type RunOptions } from '../../src/index.ts';
import { contextCell, figuresCell, resultsCell } from '../../src/notebook/context-cell.ts';
import { codeCell, createNotebook, markdownCell } from '../../src/notebook/nbformat.ts';
import { installNotebookTools, NotebookTools } from '../support/notebook-tools.ts';
import { shownBy } from '../support/shown-outputs.ts';

const INSTALL_TIMEOUT_MS = 360_000;
const LOADER = path.resolve(import.meta.dirname, '../../python/_vivarium/payloads/context.py');
const isRequired = process.env['CI'] === 'true';

let host: Host;
let found: NotebookTools | { readonly problem: string };
beforeAll(async () => {
  found = await installNotebookTools();
  host = await createHost();
}, INSTALL_TIMEOUT_MS);
afterAll(() => host.close());

type Step = string | readonly [code: string, options: RunOptions];

// A Jupyter kernel reads the output of children in a thread of its own, and loses what it has not read when a cell ends.
const CHILD = `import subprocess, time
done = subprocess.run(["echo", "of a child"], check=True)
time.sleep(1)
done`;

const VALUES: readonly Step[] = [
  'print("one")\nprint("zażółć 🐍", end="")',
  'import sys\nprint("to stderr", file=sys.stderr)\nprint("to stdout")',
  '{"b": [1, 2.5, None], "a": {3, 1, 2}}, int, "x" * 200, list(range(60))',
  'def f(x):\n    return x\nf',
  'x = 5\nx  # the value;',
  'x;',
  '_ + 1',
  'None',
  CHILD,
  'import threading\nthread = threading.Thread(target=lambda: print("of a thread"))\nthread.start()\nthread.join()',
  '"\\x1b[31mred\\x1b[0m \\x00 \\u2028", print("\\x1b[31mred\\x1b[0m")',
  'import asyncio\nawait asyncio.sleep(0.001)\nx + await asyncio.sleep(0, 2)',
  'from IPython.display import HTML, display\ndisplay(HTML("<b>bold</b>"))\ndisplay("text", [1])\nHTML("<i>it</i>")',
  'display({"application/json": {"a": [1, "ż"]}, "text/plain": "json"}, raw=True)',
];

const TABLES: readonly Step[] = [
  'import numpy as np\nimport pandas as pd\nframe = pd.DataFrame(np.arange(60).reshape(3, 20) * 1_000_000)\nprint(frame)',
  'frame',
  'frame[0]',
  'np.arange(2000).reshape(-1, 4)',
];

const FIGURES: readonly Step[] = [
  'import matplotlib\nmatplotlib.use("Agg")\nimport matplotlib.pyplot as plt',
  'plt.plot([1, 2, 3])\nplt.title("shown")\nplt.show()',
  'plt.plot([3, 2, 1])',
  'for n in range(2):\n    plt.figure()\n    plt.plot([n, n * n, 1])\n    plt.show()\nprint("two figures")',
  'figure, axes = plt.subplots(1, 2)\naxes[0].bar([1, 2], [3, 4])\nfigure.savefig("bars.png")',
  'figure, axes = plt.subplots()\naxes.plot([1, 2])\nfigure',
  'figure, axes = plt.subplots()\naxes.plot([2, 1])\ndisplay(figure)\naxes.plot([1, 2])\nplt.show()',
  'import pandas as pd\nplt.figure(figsize=(8, 4))\npd.Series([1, 3, 2]).plot(title="on the same")\nplt.figure()',
  'plt.plot([1, 2])\nplt.show()\nplt.plot([1, 2])\nplt.show()\nplt.plot([1, 2])\n1 / 0',
];

const ERRORS: readonly Step[] = [
  'print("before")\n1 / 0',
  'raise ValueError("two\\nlines")',
  'class Odd(Exception):\n    pass\nraise Odd',
  'raise KeyError("k")',
  'undefined_name',
  'raise SystemExit(3)',
  'print("after")',
];

/** Code that a session accepts and a plain kernel does not. */
const HABITS: readonly Step[] = [
  'import asyncio\nasync def seven():\n    print("in a coroutine")\n    return 7\nasyncio.run(seven())',
  '# a comment\n    y = 3\n    y + 1',
  '\n    z = 4\n    z + 1\n',
];

describe('Executed by Jupyter, the notebook of a session shows the same:', () => {
  const kinds = [
    { kind: 'values', steps: VALUES, pictures: 0 },
    { kind: 'tables', steps: TABLES, pictures: 0 },
    { kind: 'figures', steps: FIGURES, pictures: 10 },
    { kind: 'errors', steps: ERRORS, pictures: 0 },
    { kind: 'habits', steps: HABITS, pictures: 0 },
  ];
  for (const { kind, steps, pictures } of kinds) {
    test(`${kind}, one after the other`, async (context) => {
      const { notebook } = await record(steps);
      const executed = await executedBy(toolsOr(context), notebook);
      expect(shownBy(executed)).toEqual(shownBy(notebook));
      expect(shownBy(notebook)).toHaveLength(steps.length + 1);
      expect(JSON.stringify(shownBy(notebook)).split('"image/png"')).toHaveLength(pictures + 1);
    });
  }

  test('in every way of showing expressions', async (context) => {
    const initCode = 'base = 10\nbase';
    await using session = await host.createSession({ initCode });
    await session.setVariables({ given: [1] });
    await session.setContext({ WEATHER: { today: { degrees: 20 } } });
    await session.runCode('context.WEATHER.today.degrees, context.WEATHER["today"]');
    await session.runCode('context.WEATHER.tomorrow');
    const code = 'base\nNone\n"text";\nfor n in range(2):\n    n\nawait __import__("asyncio").sleep(0, "awaited")';
    for (const echo of ['all', 'last', 'none', 'all'] as const) {
      await session.runCode(code, { echo });
      await session.runCode('given', { echo });
    }
    const notebook = await session.exportNotebook();
    const executed = await executedBy(toolsOr(context), notebook);
    expect(shownBy(executed)).toEqual(shownBy(notebook));
    expect(shownBy(notebook).map(({ stdout }) => stdout)).toContain('10\ntext\nawaited\n');
    expect(JSON.stringify(shownBy(notebook))).toContain('(20, <context.WEATHER[');
    expect(JSON.stringify(shownBy(notebook))).toContain("context.WEATHER has no 'tomorrow'; it has: today");
  });
});

test('what cannot run again is described, and the rest runs without it', async (context) => {
  const { notebook } = await record([
    'kept = 1',
    'print("last words", flush=True)\nimport os\nos.kill(os.getpid(), 11)',
    ['while True: pass', { timeoutMs: 300 }],
    'kept',
    "lone = '\uD800'",
    'print("before the end")\nexit()\nprint("never")',
    'kept + 1',
  ]);
  const executed = await executedBy(toolsOr(context), notebook);
  const texts = notebook.cells.flatMap(({ cell_type, source }) => (cell_type === 'markdown' ? [source.join('')] : []));
  expect(texts).toHaveLength(4);
  expect(texts[0]).toBe('# A session');
  expect(texts[1]).toMatch(/^\*\*Run 2 is not repeated here: it crashed: .*SIGSEGV.*restored[\s\S]*last words/);
  expect(texts[2]).toMatch(/^\*\*Run 3 is not repeated here: it timed out after 300 ms/);
  expect(texts[3]).toContain(String.raw`lone = '\ud800'`);
  const [, ...cells] = shownBy(executed);
  expect(cells.map(({ stdout }) => stdout)).toEqual(['', '', 'before the end\n', '']);
  expect(cells.map(({ results }) => results)).toEqual([[], [valueOf('1')], [], [valueOf('2')]]);
});

test('what was rolled back or lost by a reset does not run', async (context) => {
  await using session = await host.createSession();
  await session.runCode('before_reset = 1');
  await session.reset();
  await session.runCode('x = 1');
  await session.runCode('x = 2');
  await session.runCode('x');
  await session.rollback();
  await session.runCode('x, "before_reset" in globals()');
  const notebook = await session.exportNotebook({ includePast: true });
  const executed = await executedBy(toolsOr(context), notebook);
  expect(shownBy(executed)).toEqual(shownBy(notebook));
  expect(shownBy(notebook).at(-1)?.results).toEqual([valueOf('(1, False)')]);
  const raw = notebook.cells.filter(({ cell_type }) => cell_type === 'raw').map(({ source }) => source.at(-1));
  expect(raw).toEqual(['before_reset = 1', 'x = 2', 'x']);
});

test('the notebook of a request finds its context and its results next to it', async (context) => {
  const loader = await readFile(LOADER, 'utf8');
  const notebook = createNotebook(
    [
      markdownCell('header', '# Successful Execution'),
      contextCell('context', { loader, path: 'context.json' }),
      codeCell('code', 'context.WEATHER.today.degrees + context["WEATHER"]["to morrow"].degrees[0]'),
      resultsCell('results', 'results.json'),
      figuresCell('figures', ['figures/figure_01.png']),
    ],
    { pythonVersion: '3' },
  );
  const weather = { WEATHER: { today: { degrees: 20 }, 'to morrow': { degrees: [22] } } };
  const files = { 'context.json': JSON.stringify(weather), 'results.json': '{"mean": 21}' };
  const executed = await executedBy(toolsOr(context), notebook, files);
  expect(shownBy(executed).map(({ results }) => results)).toEqual([[], [valueOf('42')], [valueOf("{'mean': 21}")]]);
});

function valueOf(text: string): unknown {
  return { type: 'execute_result', 'text/plain': text };
}

async function record(steps: readonly Step[]): Promise<{ notebook: Notebook }> {
  await using session = await host.createSession();
  for (const step of steps) {
    const [code, options] = typeof step === 'string' ? [step] : step;
    await session.runCode(code, options);
  }
  return { notebook: await session.exportNotebook({ title: 'A session' }) };
}

async function executedBy(
  tools: NotebookTools,
  notebook: Notebook,
  files?: Readonly<Record<string, string>>,
): Promise<Notebook> {
  await tools.validate(notebook);
  const executed = await tools.execute(notebook, files);
  expect(executed.cells.map(({ id }) => id)).toEqual(notebook.cells.map(({ id }) => id));
  return executed;
}

function toolsOr(context: TestContext): NotebookTools {
  if (found instanceof NotebookTools) return found;
  if (isRequired) throw new Error(found.problem);
  return context.skip(`NOT TRIED IN JUPYTER, which could not be installed: ${found.problem}`);
}
