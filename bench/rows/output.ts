/** A flood of output: how fast it is read, what is kept of it, and what it costs the host. */
import { expect, resultOf, type Bench } from '../bench.ts';
import { time } from '../measure.ts';
import { runProgram } from '../peers/program.ts';
import { showMb, showMs, showRatios, type Row } from '../report.ts';

const LINES = 1600;
const LINE_BYTES = 65_536;
const FLOOD = `for _ in range(${LINES}): print("x" * ${LINE_BYTES - 1})`;
const TOTAL_BYTES = LINES * LINE_BYTES;
const BUDGET_BYTES = 1 << 20;
/** What is in flight and not collected yet may be a small part of what went through. */
const GROWTH_BYTES = 64 << 20;
const SAMPLE_MS = 10;

export async function measureOutput({ host, python }: Bench): Promise<Row[]> {
  await using session = await host.createSession({ limits: { outputBytes: BUDGET_BYTES } });
  resultOf(await session.runCode('x = 41'));
  let keptBytes = 0;
  let totalBytes = 0;
  const { ms, growthBytes } = await watchMemory(async () => {
    const execution = await session.runCode(FLOOD);
    resultOf(execution);
    keptBytes = Buffer.byteLength(execution.logs.stdout);
    totalBytes = execution.truncated?.stdout?.totalBytes ?? keptBytes;
  });
  expect(totalBytes, TOTAL_BYTES, 'bytes that were counted');
  expect(resultOf(await session.runCode('x + 1')), '42', 'the session after the flood');
  const plain = await runProgram({ command: [python, '-c', FLOOD] });
  return [
    {
      what: `${showMb(TOTAL_BYTES)} printed`,
      ours: `${showMs(ms)}, Node grew by ${showMb(growthBytes)}, ${showMb(keptBytes)} kept, session alive`,
      python: showMs(plain.ms),
      ratio: showRatios(ms, { python: plain.ms }),
      hold: 'bounded memory in Node, budget kept, session alive',
      held: growthBytes <= GROWTH_BYTES && keptBytes <= BUDGET_BYTES * 1.01,
      data: { ms, growthBytes, keptBytes, totalBytes, pythonMs: plain.ms },
    },
  ];
}

/** How long the work takes and by how much this process grows at most meanwhile. */
async function watchMemory(work: () => Promise<void>): Promise<{ ms: number; growthBytes: number }> {
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), SAMPLE_MS);
  try {
    const ms = await time(work);
    return { ms, growthBytes: Math.max(peak, process.memoryUsage.rss()) - before };
  } finally {
    clearInterval(timer);
  }
}
