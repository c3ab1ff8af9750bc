/** From nothing to the first result: a whole interpreter, a kernel, a process; and a session out of the warm pool. */
import { SCIENCE, expect, openHost, resultOf, type Bench } from '../bench.ts';
import { interleave, series, summarise, summariseAll, time, type Timing } from '../measure.ts';
import { runProgram } from '../peers/program.ts';
import type { SessionOptions } from '../../src/host/options.ts';
import { showRatios, showTiming, type Row } from '../report.ts';

const FIRST = `${SCIENCE}\n1 + 1`;
const REFILL_MS = 200;
/** The host's own code is as warm as that of a server that has opened sessions before. */
const WARM_UP_SESSIONS = 100;
const POOL_MS = 1;

/** Starting everything: what is paid once per interpreter, beside what a peer pays for every session. */
export async function measureStart(bench: Bench): Promise<Row[]> {
  const { ipykernel, python } = bench;
  const readyMs: number[] = [];
  const durations = await interleave(bench.isQuick ? 1 : 4, {
    ours: async () => [await startAndAnswer()],
    ipykernel:
      ipykernel &&
      (async () => {
        const start = await ipykernel.startKernel(FIRST);
        readyMs.push(start.readyMs);
        return [start.firstMs];
      }),
    python: async () => [(await runProgram({ command: [python, '-c', SCIENCE] })).ms],
  });
  const ours = summariseAll(durations('ours'));
  const peers = { ipykernel: summarise(durations('ipykernel')), python: summarise(durations('python')) };
  const pool = await measureOpening(bench, {});
  // The walls of a read-only session are its own: an enclosure is built and a worker forked when it is asked for.
  const unprepared = await measureOpening(bench, { readOnly: true });
  return [
    {
      what: 'new isolated session to first result, science stack loaded, from the pool',
      ours: showTiming(pool) ?? '',
      ipykernel: showTiming(peers.ipykernel) ?? bench.ipykernelProblem,
      python: showTiming(peers.python),
      ratio: showRatios(pool.p50Ms, { ipykernel: peers.ipykernel?.p50Ms, python: peers.python?.p50Ms }),
      hold: `p50 ≤ ${POOL_MS} ms`,
      held: pool.p50Ms <= POOL_MS,
      data: { pool, ...peers },
    },
    {
      what: 'new isolated session to first result, with nothing ready ahead (a read-only workspace)',
      ours: showTiming(unprepared) ?? '',
      data: { unprepared },
    },
    {
      what: 'start: engine with the stack preloaded to first result; kernel until ready, then imports',
      ours: showTiming(ours) ?? '',
      ipykernel: readyMs.length > 0 ? `${showTiming(summarise(readyMs))} until ready` : bench.ipykernelProblem,
      ratio: showRatios(ours.p50Ms, { 'ipykernel with imports': peers.ipykernel?.p50Ms }),
      data: { engine: ours, ipykernelReady: summarise(readyMs), ipykernelFirst: peers.ipykernel },
    },
  ];
}

async function startAndAnswer(): Promise<number> {
  await using stack = new AsyncDisposableStack();
  return await time(async () => {
    const host = stack.use(await openHost());
    expect(resultOf(await host.runCode(FIRST)), '2', 'the first result');
  });
}

/** Closing is not counted, and the pool has time to refill: what is claimed was built before it was asked for. */
async function measureOpening({ host, isQuick }: Bench, options: SessionOptions): Promise<Timing> {
  const claim = async (): Promise<number> => {
    await using stack = new AsyncDisposableStack();
    return await time(async () => {
      const session = stack.use(await host.createSession(options));
      expect(resultOf(await session.runCode('1 + 1')), '2', 'the first result');
    });
  };
  await series(isQuick ? 3 : WARM_UP_SESSIONS, claim);
  return summariseAll(await series(isQuick ? 8 : 50, claim, REFILL_MS));
}
