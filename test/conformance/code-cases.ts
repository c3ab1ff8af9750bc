/** Code, and the execution that every host must make of it. */
import { expect } from 'vitest';
import type { RunOptions } from '../../src/index.ts';

interface Case {
  readonly title: string;
  /** Runs first. */
  readonly before?: string;
  readonly code: string;
  readonly options?: RunOptions;
  readonly expected: object;
}

const succeeded = { outcome: { status: 'succeeded' }, state: { status: 'preserved' } };
const isPng = expect.stringMatching(/^iVBORw0KGgo/u) as string;
const changes = (added: string[], changed: string[] = [], removed: string[] = []): object => ({
  state: { status: 'preserved', variables: { added, changed, removed } },
});

export const VALUES: readonly Case[] = [
  {
    title: 'the value of the last expression is a result',
    code: '1 + 1',
    expected: { ...succeeded, results: [{ kind: 'result', data: { 'text/plain': '2' } }] },
  },
  { title: 'a statement has no result', code: 'x = 1', expected: { ...succeeded, results: [] } },
  { title: 'None is no result', code: 'None', expected: { ...succeeded, results: [] } },
  { title: 'a semicolon silences', code: '41 + 1;', expected: { ...succeeded, results: [] } },
  {
    title: 'a long text is cut and says so',
    code: "'x' * 1_000_000",
    expected: { results: [{ data: { 'text/plain': expect.stringMatching(/^'x{19000}.*long\)$/u) as string } }] },
  },
  {
    title: 'echo none shows nothing',
    code: "1\n'two'",
    options: { echo: 'none' },
    expected: { ...succeeded, results: [], logs: { stdout: '' } },
  },
  {
    title: 'echo all prints every expression',
    code: "1\nx = 2\n'two'\nNone\n[x]",
    options: { echo: 'all' },
    expected: { ...succeeded, results: [], logs: { stdout: '1\ntwo\n[2]\n' } },
  },
  {
    title: 'a variable comes back as JSON',
    code: "answer = {'n': 42, 'nan': float('nan'), 'list': [1, None, 'ä']}",
    options: { resultVariable: 'answer' },
    expected: { value: { n: 42, nan: { _type: 'float', value: 'NaN' }, list: [1, null, 'ä'] } },
  },
  {
    title: 'display and results come in order, in their MIME types',
    code: "class Shown:\n    def _repr_html_(self): return '<b>shown</b>'\ndisplay({'a': 1})\ndisplay(Shown())\n6 * 7",
    expected: {
      results: [
        { kind: 'display', data: { 'text/plain': "{'a': 1}" } },
        { kind: 'display', data: { 'text/html': '<b>shown</b>' } },
        { kind: 'result', data: { 'text/plain': '42' } },
      ],
    },
  },
  {
    title: 'JSON that is shown is JSON text',
    code: "from IPython.display import JSON\ndisplay(JSON({'a': [1]}))",
    expected: { results: [{ kind: 'display', data: { 'application/json': '{"a": [1]}' } }] },
  },
  {
    title: 'clear_output drops what was shown before',
    code: "from IPython.display import clear_output\ndisplay('old')\nclear_output()\ndisplay('new')",
    expected: { results: [{ kind: 'display', data: { 'text/plain': "'new'" } }] },
  },
  {
    title: 'clear_output waits for something new if it is told to',
    code: "from IPython.display import clear_output\ndisplay('old')\nclear_output(wait=True)\ndisplay('new')\nclear_output(wait=True)",
    expected: { results: [{ kind: 'display', data: { 'text/plain': "'new'" } }] },
  },
  {
    title: 'a form that is too large is left out, and counted',
    code: 'class Page:\n    def _repr_html_(self): return "x" * 6_000_000\n    def __repr__(self): return "page"\nPage()',
    expected: {
      ...succeeded,
      results: [{ kind: 'result', data: { 'text/plain': 'page\n(text/html of 6000000 bytes left out)' } }],
      truncated: { results: { total: 1, kept: 1, reduced: 1, totalBytes: 6_000_042 } },
    },
  },
  {
    title: 'top-level await works',
    code: 'import asyncio\nawait asyncio.sleep(0, 7)',
    expected: { ...succeeded, results: [{ data: { 'text/plain': '7' } }] },
  },
];

export const OUTPUT: readonly Case[] = [
  {
    title: 'both streams are kept apart',
    code: "import sys\nprint('out ä')\nprint('err', file=sys.stderr)",
    expected: { logs: { stdout: 'out ä\n', stderr: 'err\n' } },
  },
  {
    title: 'twenty megabytes come through, head and tail kept',
    code: "print('a' * 20_000_000 + 'z')",
    expected: {
      logs: { stdout: expect.stringMatching(/^aaa.*bytes of output omitted.*aaz\n$/su) as string },
      truncated: { stdout: { totalBytes: 20_000_002 } },
    },
  },
  {
    title: 'exit() ends the cell and nothing else',
    before: 'kept = 1',
    code: "print('before')\nexit()\nprint('after')",
    expected: { ...succeeded, logs: { stdout: 'before\n', stderr: '' } },
  },
];

export const VARIABLES: readonly Case[] = [
  { title: 'a new variable is added', code: 'fresh = 1', expected: changes(['fresh']) },
  {
    title: 'what is rebound or changed in place is changed, what is deleted removed',
    before: 'a, b, c = 1, [1], 2',
    code: 'a = 2\nb.append(2)\ndel c',
    expected: changes([], ['a', 'b'], ['c']),
  },
  { title: 'looking changes nothing', before: 'seen = [1]', code: 'seen', expected: changes([]) },
  {
    title: 'names with an underscore and modules do not count',
    code: 'import json\n_hidden = 1',
    expected: changes([]),
  },
];

export const LIBRARIES: readonly Case[] = [
  {
    title: 'a table is described',
    code: "import pandas as pd\ntable = pd.DataFrame({'n': [1, 2, None], 's': list('abc')})",
    expected: {
      dataframes: [
        {
          name: 'table',
          rows: 3,
          columnCount: 2,
          columns: [
            { name: 'n', dtype: 'float64', missing: 1 },
            { name: 's', missing: 0 },
          ],
        },
      ],
    },
  },
  {
    title: 'a table that is echoed has its HTML',
    code: "import pandas as pd\npd.DataFrame({'n': [1]})",
    expected: { results: [{ data: { 'text/html': expect.stringContaining('<table') as string } }] },
  },
  {
    title: 'a figure is shown with its title and the data behind it',
    code: "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.title('Growth')\nplt.show()",
    expected: {
      results: [
        { kind: 'figure', title: 'Growth', data: { 'image/png': isPng }, chart: { type: 'line', title: 'Growth' } },
      ],
    },
  },
  {
    title: 'figures that are left open are shown, each once, and SVG if asked for',
    code: 'import matplotlib.pyplot as plt\nfirst = plt.figure(); plt.plot([1, 2]); plt.show(); first.show()\nplt.figure(); plt.bar([1], [2]);',
    options: { svg: true },
    expected: {
      results: [
        { kind: 'figure', chart: { type: 'line' } },
        {
          kind: 'figure',
          chart: { type: 'bar' },
          data: { 'image/svg+xml': expect.stringContaining('<svg') as string },
        },
      ],
    },
  },
  {
    title: 'figures before an error are kept',
    code: 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\n1 / 0',
    expected: { outcome: { status: 'raised' }, results: [{ kind: 'figure' }] },
  },
];
