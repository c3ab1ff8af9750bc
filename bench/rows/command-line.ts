/** The command line as a whole process, beside `python`. */
import { globSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Bench } from '../bench.ts';
import { interleave, summariseAll } from '../measure.ts';
import { runProgram } from '../peers/program.ts';
import { showMs, showTiming, type Row } from '../report.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const BUILT = path.join(ROOT, 'dist/bin/vivarium.js');
const CODE = 'print(1)';
const HOLD_RATIO = 3;
const HOLD_EXTRA_MS = 150;

export async function measureCommandLine({ python, isQuick }: Bench): Promise<Row[]> {
  if (isStale()) await runProgram({ command: [process.execPath, 'tools/bundle.ts'], env: process.env, cwd: ROOT });
  const ours = { command: [process.execPath, BUILT, 'run', '-c', CODE], env: process.env };
  const theirs = { command: [python, '-c', CODE] };
  await runProgram(ours);
  await runProgram(theirs);
  const durations = await interleave(isQuick ? 3 : 12, {
    ours: async () => [(await runProgram(ours)).ms],
    python: async () => [(await runProgram(theirs)).ms],
  });
  const timing = summariseAll(durations('ours'));
  const peer = summariseAll(durations('python'));
  const limitMs = HOLD_RATIO * peer.p50Ms + HOLD_EXTRA_MS;
  return [
    {
      what: '`vivarium run -c "print(1)"`, whole process',
      ours: showTiming(timing) ?? '',
      python: showTiming(peer),
      ratio: `${(timing.p50Ms / peer.p50Ms).toFixed(1)} × as long as python`,
      hold: `≤ ${HOLD_RATIO} × python + ${HOLD_EXTRA_MS} ms (${showMs(limitMs)})`,
      held: timing.p50Ms <= limitMs,
      data: { ours: timing, python: peer, limitMs },
    },
  ];
}

/** What is measured is what was built from the sources as they are. */
function isStale(): boolean {
  const builtAt = statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs;
  if (builtAt === undefined) return true;
  return globSync('src/**/*.ts', { cwd: ROOT }).some((name) => {
    return (
      !name.endsWith('.test.ts') && (statSync(path.join(ROOT, name), { throwIfNoEntry: false })?.mtimeMs ?? 0) > builtAt
    );
  });
}
