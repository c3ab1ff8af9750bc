/** Small cells in a session that lives already. */
import { expect, resultOf, type Bench } from '../bench.ts';
import { interleave, series, summarise, summariseAll, time } from '../measure.ts';
import { showRatios, showTiming, type Row } from '../report.ts';

const WARM_UP_RUNS = 500;
const PEER_WARM_UP_RUNS = 30;
const THINK_MS = 50;
const LOOK_MS = 0.3;
const LOOK_RATIO = 15;

export async function measureLive(bench: Bench): Promise<Row[]> {
  await using session = await bench.host.createSession();
  const run = (code: string): Promise<number> => time(async () => resultOf(await session.runCode(code)));
  expect(resultOf(await session.runCode('1 + 1')), '2', 'a live session');
  await series(WARM_UP_RUNS, () => run('1 + 1'));
  await bench.ipykernel?.run('1 + 1', PEER_WARM_UP_RUNS);
  return [await measureLook(bench, run), await measureChange(bench, run, 0), await measureChange(bench, run, THINK_MS)];
}

type RunCell = (code: string) => Promise<number>;

async function measureLook({ ipykernel, ipykernelProblem, isQuick }: Bench, run: RunCell): Promise<Row> {
  const durations = await interleave(isQuick ? 8 : 20, {
    ours: () => series(100, () => run('1 + 1')),
    ipykernel: ipykernel && (async () => (await ipykernel.run('1 + 1', isQuick ? 10 : 25)).durationsMs),
  });
  const ours = summariseAll(durations('ours'));
  const peer = summarise(durations('ipykernel'));
  const isFaster = peer === undefined || peer.p50Ms / ours.p50Ms >= LOOK_RATIO;
  return {
    what: '`1 + 1` in a live session, library',
    ours: showTiming(ours) ?? '',
    ipykernel: showTiming(peer) ?? ipykernelProblem,
    ratio: showRatios(ours.p50Ms, { ipykernel: peer?.p50Ms }),
    hold: `p50 ≤ ${LOOK_MS} ms; ≥ ${LOOK_RATIO} × ipykernel`,
    held: ours.p50Ms <= LOOK_MS && isFaster,
    data: { ours, ipykernel: peer },
  };
}

/** A cell that changes the state: behind it a twin is forked, at the latest before the next cell begins. */
async function measureChange(
  { ipykernel, ipykernelProblem, isQuick }: Bench,
  run: RunCell,
  pauseMs: number,
): Promise<Row> {
  const code = 'x = x + 1';
  await run('x = 0');
  await ipykernel?.run('x = 0');
  const perRound = 5;
  const durations = await interleave(isQuick ? 4 : 12, {
    ours: () => series(perRound, () => run(code), pauseMs),
    ipykernel:
      ipykernel &&
      (() => series(perRound, async () => (await ipykernel.run(code)).durationsMs[0] ?? Number.NaN, pauseMs)),
  });
  const ours = summariseAll(durations('ours'));
  const peer = summarise(durations('ipykernel'));
  return {
    what: `\`${code}\`, ${pauseMs === 0 ? 'one right after the other' : `${pauseMs} ms between the runs`} (each is protected by a twin)`,
    ours: showTiming(ours) ?? '',
    ipykernel: showTiming(peer) ?? ipykernelProblem,
    ratio: showRatios(ours.p50Ms, { ipykernel: peer?.p50Ms }),
    data: { pauseMs, ours, ipykernel: peer },
  };
}
