/** A minute of `npm run chaos`, gentle enough to run beside other tests. `VIVARIUM_SEED` repeats a run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { Chance } from '../e2e/engine/chance.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const GENTLE = ['--minutes', '0.7', '--sessions', '4', '--fault-ms', '400', '--pause-ms', '80'];
const { seed } = new Chance();

/** In a process of its own, which may run out of descriptors without harm to other tests. */
test(`callers under random faults are told the truth, get every answer, and leave nothing behind (VIVARIUM_SEED=${seed})`, async () => {
  const traces = await mkdtemp(path.join(tmpdir(), 'viv-traces-'));
  const parameters = [MAIN, ...GENTLE, '--seed', `${seed}`, '--traces', traces];
  const chaos = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, [exitCode]] = await Promise.all([text(chaos.stdout), once(chaos, 'exit') as Promise<[number | null]>]);
  expect(exitCode, `${said}${await stepsIn(traces)}`).toBe(0);
  expect(said).toMatch(/^PASS: .* 0 lies, 0 hangs, 0 leftovers$/m);
  await rm(traces, { recursive: true });
}, 240_000);

/** The last steps of sessions that were told a lie: where the test ran, nobody may be able to read its files. */
async function stepsIn(traces: string): Promise<string> {
  const files = await Array.fromAsync(glob('**/*.txt', { cwd: traces }));
  return (await Promise.all(files.map((file) => readFile(path.join(traces, file), 'utf8')))).join('\n');
}
