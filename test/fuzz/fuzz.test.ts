/** A few seconds of `npm run fuzz`. `VIVARIUM_SEED` repeats a run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { Chance } from '../e2e/engine/chance.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const SHORT = ['--frames', '1000', '--trees', '60'];
const { seed } = new Chance();

/** In a process of its own: an error that nobody catches ends it. */
test(`whatever a session says or writes, the others go on and its caller is told why (VIVARIUM_SEED=${seed})`, async () => {
  const fuzz = spawn(process.execPath, [MAIN, ...SHORT, '--seed', `${seed}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, [exitCode]] = await Promise.all([text(fuzz.stdout), once(fuzz, 'exit') as Promise<[number | null]>]);
  expect(exitCode, said).toBe(0);
  expect(said.match(/1000 frames/g), said).toHaveLength(3);
  expect(said, said).toContain('60 trees,');
}, 600_000);
