/** `npm run fuzz`: generated messages on the three protocols that cross the walls. See CONTRIBUTING.md. */
import { parseArgs } from 'node:util';
import { parseConfig } from '../../src/config.ts';
import { choosePython } from '../../src/host/local/python.ts';
import { fuzzLifelines } from './lifelines.ts';
import type { FuzzOutcome } from './outcome.ts';
import { Witness } from './witness.ts';
import { fuzzWorkerFrames } from './worker-frames.ts';
import { fuzzZygoteEvents } from './zygote-events.ts';

const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const options = { frames: Number(values.frames), seed: Number(values.seed) };
const { python } = await choosePython(parseConfig({}));
say(`seed ${options.seed}: ${options.frames} messages on each protocol`);
const witness = await Witness.start();
const protocols: Readonly<Record<string, () => Promise<FuzzOutcome>>> = {
  'worker to host': () => fuzzWorkerFrames(options, witness.laboratory),
  'pid 1 to zygote': () => fuzzLifelines(options, python),
  'zygote to host': () => fuzzZygoteEvents(options),
};
const problems: string[] = [];
const running = Object.entries(protocols).map(async ([name, fuzz]) => {
  const startedAt = performance.now();
  const outcome = await fuzz();
  const counts = Object.entries(outcome.counts).map(([what, count]) => `${count} ${what}`);
  say(`${name}: ${counts.join(', ')} in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  problems.push(...outcome.problems.map((problem) => `${name}: ${problem}`));
});
await Promise.all(running);
await witness[Symbol.asyncDispose]();
say(witness.summary);
problems.push(...witness.problems);
for (const problem of problems) say(`PROBLEM ${problem}`);
say(`${problems.length === 0 ? 'PASS' : 'FAIL'}: seed ${options.seed}, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
