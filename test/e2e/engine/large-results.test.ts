/** Ordinary programs that show more than one run may show: it is cut, with numbers, and the run goes on. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, forModel, type Execution } from '../../../src/index.ts';
import { Laboratory } from './laboratory.ts';

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start({ preload: ['numpy', 'pandas', 'matplotlib.pyplot'] });
});
afterAll(() => laboratory?.close());

const MOST_BYTES = 32 << 20;

async function run(code: string): Promise<Execution> {
  await using subject = await laboratory.open({ timeoutMs: 120_000 });
  await subject.run('x = 41');
  const execution = await subject.run(code);
  expect(execution).toMatchObject({ outcome: { status: 'succeeded' }, state: { status: 'preserved' } });
  expect(JSON.stringify(execution.results).length).toBeLessThan(MOST_BYTES);
  expect(await subject.evaluate('x + 1')).toBe('42');
  return execution;
}

const textOf = ({ results }: Execution, index: number): string => results.at(index)?.data['text/plain'] ?? '';

test.for([
  ['ten thousand results', 'for n in range(10_001): display(n)', 10_001],
  ['updates of one display', 'h = display(0, display_id=True)\nfor n in range(1, 20_001): h.update(n)', 20_001],
] as const)('of %s the first and the last are kept', { timeout: 120_000 }, async ([, code, total]) => {
  const execution = await run(code);
  expect(execution.truncated?.results).toMatchObject({ total, kept: execution.results.length, reduced: 0 });
  expect([textOf(execution, 0), textOf(execution, -1)]).toEqual(['0', `${total - 1}`]);
  expect(forModel(execution)).toContain(`${total} were shown`);
});

test.for([
  ['display', 'display(n)'],
  ['print', 'print(n)'],
] as const)('a progress loop with %s of 20,000 steps ends with its last', { timeout: 120_000 }, async ([, show]) => {
  const clear = 'from IPython.display import clear_output\nfor n in range(20_000):\n    clear_output(wait=True)';
  const execution = await run(`${clear}\n    ${show}`);
  expect(execution.truncated).toBeUndefined();
  expect(execution.transcript).toHaveLength(1);
  const [last] = execution.transcript;
  expect(last?.type === 'text' ? last.text.trim() : textOf(execution, 0)).toMatch(/^(.*\n)*19999$/u);
});

test.for(['x', 'é'])('large tables are shown as far as they fit, and then by their text (%s)', async (letter) => {
  const execution = await run(
    `from IPython.display import HTML\nfor n in range(20): display(HTML("<table>" + ${JSON.stringify(letter)} * 2_000_000))`,
  );
  expect(execution.results).toHaveLength(20);
  expect(execution.results[0]?.data['text/html']).toHaveLength(2_000_007);
  expect(textOf(execution, -1)).toMatch(
    /^<(?:IPython\.core\.display\.)?HTML object>\n\(text\/html of \d+ bytes left out/u,
  );
  const { totalBytes = 0, keptBytes = 0, reduced = 0 } = execution.truncated?.results ?? {};
  expect(totalBytes).toBeGreaterThan(40_000_000);
  expect(keptBytes).toBeLessThan(20_000_000);
  expect(reduced).toBeGreaterThan(10);
});

test('a value with twenty large forms keeps some of them', async () => {
  const forms = '{f"text/x{n}": "x" * 4_000_000 for n in range(20)}';
  const execution = await run(`class Rich:\n    def _repr_mimebundle_(self, **_): return ${forms}\nRich()`);
  expect(execution.truncated?.results).toMatchObject({ total: 1, kept: 1, reduced: 1 });
  expect(Object.keys(execution.results[0]?.data ?? {})).toHaveLength(2);
});

const GRID = `
import matplotlib.pyplot as plt, numpy as np
figure, plots = plt.subplots(8, 8)
for plot in plots.flat:
    for _ in range(20): plot.plot(np.random.rand(3000))
`;

test('the data behind a large chart is sampled, and says so', { timeout: 120_000 }, async () => {
  const execution = await run(`${GRID}plt.show()`);
  const [figure] = execution.results;
  expect(figure?.data['image/png']).toMatch(/^iVBORw0KGgo/u);
  expect(figure?.chart).toMatchObject({ type: 'several', omitted: { charts: 14, points: 50 * 20 * (3000 - 20) } });
  expect(JSON.stringify(figure?.chart).length).toBeLessThan(1_000_000);
});

test('figures that are saved many times have room for their data once', { timeout: 120_000 }, async () => {
  await using host = await createHost();
  const execution = await host.runOnce(`${GRID}for n in range(4): figure.savefig(f"{n}.png", dpi=20)\nplt.close()`);
  expect(execution.outcome.status).toBe('succeeded');
  const kept = execution.figures.map(({ chart }) => (chart as { charts?: unknown[] }).charts?.length);
  expect(kept.filter((plots) => plots === 50).length).toBeGreaterThan(1);
  expect(execution.figures).toHaveLength(4);
});

test('a large plotly figure has fewer points, evenly', { timeout: 120_000 }, async () => {
  const execution = await run(
    'import plotly.graph_objects as go, numpy as np\ngo.Figure(go.Scatter(x=np.arange(2_000_000), y=np.random.rand(2_000_000))).show()',
  );
  expect(textOf(execution, 0)).toMatch(/shown with \d+ of 2000000 points, because it is large/u);
  const { layout } = JSON.parse(execution.results[0]?.data['application/vnd.plotly.v1+json'] ?? '') as {
    layout: { meta: { omittedPoints: number } };
  };
  expect(layout.meta.omittedPoints).toBeGreaterThan(1_000_000);
  expect(execution.truncated?.results).toMatchObject({ total: 1, kept: 1, reduced: 1 });
});

test('a run that is killed has told what it left out so far', async () => {
  await using subject = await laboratory.open({ graceMs: 100 });
  const code =
    'import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nfor n in range(5000): display(n)\nos.kill(os.getpid(), 9)';
  const execution = await subject.run(code);
  expect(execution.outcome.status).toBe('crashed');
  const { total = 0, kept = 0 } = execution.truncated?.results ?? {};
  expect(kept).toBe(execution.results.length);
  expect(total - kept).toBe(2048);
});

test('what was cut is in the notebook and in the artifacts of a session as far as it was kept', async () => {
  await using host = await createHost();
  await using session = await host.createSession();
  const code = `
from IPython.display import HTML
for n in range(12): display(HTML("x" * 6_000_000))
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.show()`;
  const execution = await session.runCode(code);
  expect(execution.truncated?.results?.total).toBe(13);
  expect(execution.figures).toHaveLength(1);
  const notebook = JSON.stringify(await session.exportNotebook());
  expect(notebook).toContain('bytes left out');
});
