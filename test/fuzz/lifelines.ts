/** Pid 1 to zygote. The messages go to a real zygote's loop in a process of its own; see python/tests/zygote/lifelines.py. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { Mutations } from './mutations.ts';
import type { FuzzOptions, FuzzOutcome } from './outcome.ts';

const SIDE = path.resolve(import.meta.dirname, '../../python');
const TEMPLATES = [
  { request: -1, problem: null },
  { request: -1, problem: 'process 7: No such process' },
  { request: 1, problem: 'of another enclosure' },
  { status: 9 },
  { status: 256 },
  { failure: 'OSError: [Errno 22] Invalid argument' },
];

export async function fuzzLifelines({ frames, seed }: FuzzOptions, python: string): Promise<FuzzOutcome> {
  const mutations = new Mutations(seed, TEMPLATES);
  const zygote = spawn(python, ['-B', '-m', 'tests.zygote.lifelines'], {
    cwd: SIDE,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(zygote, 'exit') as Promise<[number | null]>;
  const said = text(zygote.stdout);
  zygote.stdin.on('error', () => undefined); // it has ended early, which its exit code tells
  for (let count = 0; count < frames && zygote.stdin.writable; count += 1) {
    const message = mutations.next().text;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(message.length);
    if (!zygote.stdin.write(Buffer.concat([length, message]))) await Promise.race([once(zygote.stdin, 'drain'), ended]);
  }
  zygote.stdin.end();
  const [code] = await ended;
  if (code !== 0) return { counts: {}, problems: [`the zygote's loop ended with ${code}`] };
  return JSON.parse(await said) as FuzzOutcome;
}
