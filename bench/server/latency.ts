/** The smallest run, over HTTP. */
import { z } from 'zod';
import type { Execution } from '../../src/execution/execution.ts';
import { connect } from '../../src/remote/connect.ts';
import { expect, resultOf, type Bench } from '../bench.ts';
import { interleave, series, summarise, summariseAll, time } from '../measure.ts';
import { startExecuteServer } from '../peers/execute-server.ts';
import { showRatios, showTiming, type Row } from '../report.ts';
import { BareClient } from './bare-client.ts';
import { startOwn } from './server-process.ts';

const CODE = '1 + 1';
const WARM_UP_RUNS = 500;
const PEER_WARM_UP_RUNS = 100;
const LOOK_MS = 1.5;
const LOOK_RATIO = 3;
const PEER = 'a server of the make of E2B’s: FastAPI, Jupyter kernel';

const ResultLine = z.object({ type: z.literal('result'), text: z.string() });

type Run = () => Promise<string | undefined>;

export async function measureLatency(bench: Bench): Promise<Row[]> {
  const { isQuick, peerPython, environment, ipykernelProblem } = bench;
  await using stack = new AsyncDisposableStack();
  const { url, adminKey: key } = stack.use(await startOwn(bench, 1));
  const host = stack.use(await connect(url, { key }));
  const session = stack.use(await host.createSession());
  const bare = stack.use(new BareClient());
  const runs = { url: `${url}/v1/sessions/${session.id}/runs`, key, body: { code: CODE } };
  const client: Run = async () => resultOf(await session.runCode(CODE));
  const post: Run = async () => resultOf(JSON.parse(await bare.post(runs)) as Execution);
  const peer =
    peerPython === undefined
      ? undefined
      : peerRun(stack.use(await startExecuteServer(peerPython, environment.cacheDir)).url, stack.use(new BareClient()));
  await warmUp(client, WARM_UP_RUNS);
  await warmUp(post, WARM_UP_RUNS);
  if (peer) await warmUp(peer, PEER_WARM_UP_RUNS);
  const durations = await interleave(isQuick ? 8 : 20, {
    client: () => series(100, () => time(client)),
    post: () => series(100, () => time(post)),
    peer: peer && (() => series(25, () => time(peer))),
  });
  const theirs = durations('peer');
  return [
    lookRow('the client of the library', { ours: durations('client'), theirs, problem: ipykernelProblem }),
    lookRow('a plain POST on a kept connection', { ours: durations('post'), theirs, problem: ipykernelProblem }),
  ];
}

function peerRun(url: string, bare: BareClient): Run {
  return async () => {
    const lines = (await bare.post({ url: `${url}/execute`, body: { code: CODE } })).trim().split('\n');
    const results = lines.map((line) => ResultLine.safeParse(JSON.parse(line))).filter(({ success }) => success);
    return results[0]?.data?.text;
  };
}

async function warmUp(run: Run, times: number): Promise<void> {
  await series(times, () => time(async () => expect(await run(), '2', 'a session on a server')));
}

interface Look {
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
  readonly problem: string | undefined;
}

function lookRow(how: string, { ours, theirs, problem }: Look): Row {
  const timing = summariseAll(ours);
  const peer = summarise(theirs);
  return {
    what: `\`${CODE}\` over HTTP in a live session, ${how}; peer: ${PEER} (not E2B’s code)`,
    ours: showTiming(timing) ?? '',
    ipykernel: showTiming(peer) ?? problem,
    ratio: showRatios(timing.p50Ms, { peer: peer?.p50Ms }),
    hold: `p50 ≤ ${LOOK_MS} ms; ≥ ${LOOK_RATIO} × the peer`,
    held: timing.p50Ms <= LOOK_MS && (peer === undefined || peer.p50Ms / timing.p50Ms >= LOOK_RATIO),
    data: { ours: timing, peer },
  };
}
