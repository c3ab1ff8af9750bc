/** A run of its own: a fresh sandbox, beside a fresh process. */
import { resultOf, type Bench } from '../bench.ts';
import { interleave, summarise, summariseAll, time } from '../measure.ts';
import { runProgram } from '../peers/program.ts';
import { showRatios, showTiming, type Row } from '../report.ts';
import { setTimeout as sleep } from 'node:timers/promises';

const CODE = 'import pandas';
const HOLD_RATIO = 50;
const REFILL_MS = 200;

/** The whole call is counted, with the end of the sandbox and the removal of its files. */
export async function measureOnce({ host, python, isQuick }: Bench): Promise<Row[]> {
  const once = async (): Promise<number> => {
    const ms = await time(async () => resultOf(await host.runOnce(CODE)));
    await sleep(REFILL_MS);
    return ms;
  };
  await once();
  await runProgram({ command: [python, '-c', CODE] });
  const durations = await interleave(isQuick ? 3 : 12, {
    ours: async () => [await once(), await once()],
    python: async () => [(await runProgram({ command: [python, '-c', CODE] })).ms],
  });
  const ours = summariseAll(durations('ours'));
  const fresh = summarise(durations('python'));
  return [
    {
      what: 'one-shot run with pandas in a fresh sandbox; `python -c "import pandas"`',
      ours: showTiming(ours) ?? '',
      python: showTiming(fresh),
      ratio: showRatios(ours.p50Ms, { python: fresh?.p50Ms }),
      hold: `≥ ${HOLD_RATIO} × python`,
      held: (fresh?.p50Ms ?? 0) / ours.p50Ms >= HOLD_RATIO,
      data: { ours, python: fresh },
    },
  ];
}
