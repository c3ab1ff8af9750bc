/** `npm run fuzz`: generated messages on the three protocols that cross the walls, and hostile files. See CONTRIBUTING.md. */
import { parseArgs } from 'node:util';
import { parseConfig } from '../../src/config.ts';
import { choosePython } from '../../src/host/local/python.ts';
import { Laboratory } from '../e2e/engine/laboratory.ts';
import { fuzzLifelines } from './lifelines.ts';
import type { FuzzOutcome } from './outcome.ts';
import { fuzzTrees } from './trees/trees.ts';
import { Witness } from './witness.ts';
import { fuzzWorkerFrames } from './worker-frames.ts';
import { fuzzZygoteEvents } from './zygote-events.ts';

const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '100000' },
    trees: { type: 'string', default: '10000' },
    python: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const seed = Number(values.seed);
const [frames, trees] = [Number(values.frames), Number(values.trees)];
const { python } = await choosePython(parseConfig(values.python === undefined ? {} : { python: values.python }));
say(`seed ${seed}: ${frames} messages on each protocol, ${trees} trees of files`);
const problems: string[] = [];
const stop = new AbortController();
process.once('SIGINT', () => stop.abort()); // what has been seen is told; a second one ends the process
if (frames > 0) await fuzzProtocols();
if (trees > 0)
  await follow(
    'files to host',
    async () => await fuzzTrees({ trees, seed, python, signal: stop.signal, onProgress: say }),
  );
for (const problem of problems) say(`PROBLEM ${problem}`);
say(`${problems.length === 0 ? 'PASS' : 'FAIL'}: seed ${seed}, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function fuzzProtocols(): Promise<void> {
  const options = { frames, seed };
  await using laboratory = await Laboratory.start();
  const subject = await laboratory.open();
  const witness = await Witness.start((code) => subject.run(code));
  await Promise.all([
    follow('worker to host', () => fuzzWorkerFrames(options, laboratory)),
    follow('pid 1 to zygote', () => fuzzLifelines(options, python)),
    follow('zygote to host', () => fuzzZygoteEvents(options)),
  ]);
  await witness[Symbol.asyncDispose]();
  say(witness.summary);
  problems.push(...witness.problems);
}

/** Says what came of one part. */
async function follow(name: string, fuzz: () => Promise<FuzzOutcome>): Promise<void> {
  const startedAt = performance.now();
  const outcome = await fuzz();
  const counts = Object.entries(outcome.counts).map(([what, count]) => `${count} ${what}`);
  say(`${name}: ${counts.join(', ')} in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  if (outcome.summary !== undefined) say(`${name}: ${outcome.summary}`);
  problems.push(...outcome.problems.map((problem) => `${name}: ${problem}`));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
