/** Small cells in a session that holds much: what a run does not touch must cost nothing. */
import { expect, resultOf, type Bench } from '../bench.ts';
import { interleave, series, summarise, summariseAll, time } from '../measure.ts';
import { showMs, showRatios, showTiming, type Row } from '../report.ts';

const WARM_UP_RUNS = 300;
const PEER_WARM_UP_RUNS = 10;
const GROWTH = 2;
const LOOK_RATIO = 5;

interface State {
  readonly name: string;
  /** Makes the state; its last line is `1`. */
  readonly code: string;
}

const STATES: readonly State[] = [
  {
    name: '50 DataFrames of 10,000 × 20, half of them with text',
    code: `
import numpy as np, pandas as pd
for i in range(50):
    df = pd.DataFrame(np.random.rand(10_000, 20)).add_prefix("c")
    if i % 2: df = df.assign(**{f"c{n}": np.char.add("text ", np.arange(10_000).astype(str)) for n in range(5)})
    globals()[f"frame{i}"] = df
1`,
  },
  { name: '100,000 variables', code: 'for i in range(100_000): globals()[f"v{i}"] = i\n1' },
  ...[2000, 10_000, 50_000].map((count) => ({
    name: `${count.toLocaleString('en')} files`,
    code: `
import os
for i in range(${count}):
    if i % 1000 == 0: os.makedirs(f"many-${count}/{i // 1000}")
    open(f"many-${count}/{i // 1000}/{i}", "w").close()
1`,
  })),
  { name: '300 variables', code: 'for i in range(300): globals()[f"v{i}"] = [i, {"a": i}, str(i)][i % 3]\n1' },
];
const CELLS = ['1 + 1', 'q = 1'] as const;

export async function measureState(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const state of STATES) rows.push(...(await measureIn(bench, state)));
  return rows;
}

async function measureIn(bench: Bench, state: State): Promise<Row[]> {
  await using empty = await bench.host.createSession();
  await using full = await bench.host.createSession();
  expect(resultOf(await full.runCode(state.code)), '1', state.name);
  await bench.ipykernel?.startKernel(state.code);
  await bench.ipykernel?.run('1 + 1', PEER_WARM_UP_RUNS);
  for (const session of [empty, full]) {
    await series(WARM_UP_RUNS, () => time(async () => resultOf(await session.runCode('1 + 1'))));
  }
  const rows: Row[] = [];
  for (const code of CELLS) rows.push(await measureCell(bench, { state, empty, full, code }));
  return rows;
}

type Live = Awaited<ReturnType<Bench['host']['createSession']>>;

async function measureCell(
  { ipykernel, ipykernelProblem, isQuick }: Bench,
  { state, empty, full, code }: { state: State; empty: Live; full: Live; code: (typeof CELLS)[number] },
): Promise<Row> {
  const isLook = code === '1 + 1';
  const count = isLook ? 50 : 5;
  const runIn = (session: Live) => () => series(count, () => time(async () => resultOf(await session.runCode(code))));
  const durations = await interleave(isQuick ? 8 : 20, {
    empty: runIn(empty),
    full: runIn(full),
    ipykernel: ipykernel && (async () => (await ipykernel.run(code, isLook ? 10 : 5)).durationsMs),
  });
  const [before, ours] = [summariseAll(durations('empty')), summariseAll(durations('full'))];
  const peer = summarise(durations('ipykernel'));
  const growth = ours.p50Ms / before.p50Ms;
  const isFaster = !isLook || peer === undefined || peer.p50Ms / ours.p50Ms >= LOOK_RATIO;
  return {
    what: `\`${code}\` with ${state.name} (in an empty session ${showMs(before.p50Ms)})`,
    ours: showTiming(ours) ?? '',
    ipykernel: showTiming(peer) ?? ipykernelProblem,
    ratio: showRatios(ours.p50Ms, { ipykernel: peer?.p50Ms }),
    hold: `≤ ${GROWTH} × the empty session${isLook ? `; ≥ ${LOOK_RATIO} × ipykernel` : ''}`,
    held: growth <= GROWTH && isFaster,
    data: { state: state.name, code, growth, empty: before, ours, ipykernel: peer },
  };
}
