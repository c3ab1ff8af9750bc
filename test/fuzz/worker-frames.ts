/**
 * Worker to host. Every frame is read as the host reads it, from a real socket. Some are also sent by a program in a real
 * session, which must be told that it broke the protocol, and must work afterwards.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import { FrameReader, readFrames } from '../../src/engine/local/protocol/frames.ts';
import { parseWorkerFrame } from '../../src/engine/local/protocol/worker-frame.ts';
import type { Execution } from '../../src/execution/execution.ts';
import { foldExecution } from '../../src/execution/transcript.ts';
import type { Laboratory, Subject } from '../e2e/engine/laboratory.ts';
import { framed } from './envelope.ts';
import { Mutations } from './mutations.ts';
import type { FuzzOptions, FuzzOutcome } from './outcome.ts';
import { SocketPairs } from './socket-pairs.ts';

const SESSION_EVERY = 200;
const TIMEOUT_MS = 1500;
const TRIES = 3;
const RUN = 'run';
const OUR_OWN_FAILURE = /could not be handled/;

const VARIABLES = { added: ['a'], changed: [], removed: [] };
const TEMPLATES = [
  { type: 'ready', pid: 2, isEmpty: true },
  { type: 'cleared', files: 'restored' },
  { type: 'twin', pid: 7, token: '00'.repeat(16), dropped: null, refreshed: false },
  { type: 'unprotected', reason: 'a thread' },
  { type: 'renewed' },
  { type: 'resumed', pid: 7, files: 'restored' },
  { type: 'result', id: RUN, kind: 'display', data: { 'text/plain': 'x' }, texts: [['text/html', 0]], title: 'x' },
  { type: 'result', id: RUN, kind: 'clear', data: {}, wait: true },
  { type: 'cut', id: RUN, results: { total: 1, kept: 1, reduced: 0, totalBytes: 5, keptBytes: 5 } },
  { type: 'done', id: RUN, error: { name: 'E', value: 'v', traceback: 't' }, variables: VARIABLES, threads: 1 },
  { type: 'done', id: RUN, changed: true, value: '{"a":[1]}', saved: [{ path: 'a.png', title: null }], touched: true },
  { type: 'table', id: RUN, problem: null },
  { type: 'variables', id: RUN, variables: [{ name: 'a', type: 'int', description: '1', sizeBytes: 28 }] },
  { type: 'completion', id: RUN, found: { prefix: 'pr', matches: ['print', 'property'] } },
];

type Verdict = 'accepted' | 'refused' | 'incomplete';

export async function fuzzWorkerFrames(options: FuzzOptions, laboratory: Laboratory): Promise<FuzzOutcome> {
  const counts = { frames: 0, accepted: 0, refused: 0, incomplete: 0, fromSessions: 0, told: 0 };
  const problems: string[] = [];
  const mutations = new Mutations(options.seed, TEMPLATES);
  await using pairs = await SocketPairs.open();
  const host = new HostEnd(await pairs.make());
  await using subject = await laboratory.open({ timeoutMs: TIMEOUT_MS, graceMs: 200 });
  while (counts.frames < options.frames) {
    const mutation = mutations.next();
    const bytes = framed(mutations, mutation);
    const { verdict, reason } = await host.read(bytes);
    counts.frames += 1;
    counts[verdict] += 1;
    if (OUR_OWN_FAILURE.test(reason)) problems.push(`frame ${counts.frames} (${mutation.kind}): ${reason}`);
    if (counts.frames % SESSION_EVERY !== 0) continue;
    counts.fromSessions += 1;
    const problem = await sendFromSession(subject, bytes, verdict);
    if (verdict === 'refused' && problem === null) counts.told += 1;
    if (problem !== null) problems.push(`frame ${counts.frames} (${mutation.kind}) from a session: ${problem}`);
  }
  return { counts, problems };
}

/** The host's end of a worker's channel. After each frame both ends are put in step again, as when a twin takes over. */
class HostEnd {
  readonly #reader = new FrameReader();
  readonly #near: Socket;
  readonly #far: Socket;
  #verdict: Verdict = 'incomplete';
  #reason = '';

  constructor({ near, far }: { readonly near: Socket; readonly far: Socket }) {
    this.#near = near;
    this.#far = far;
    readFrames(near, this.#reader, {
      frame: (frame) => {
        parseWorkerFrame(frame);
        if (this.#verdict === 'incomplete') this.#verdict = 'accepted';
      },
      violation: ({ message }) => {
        if (this.#verdict === 'incomplete') this.#verdict = 'refused';
        this.#reason += message;
      },
    });
  }

  async read(bytes: Buffer): Promise<{ readonly verdict: Verdict; readonly reason: string }> {
    this.#verdict = 'incomplete';
    this.#reason = '';
    this.#far.write(bytes);
    while (this.#near.bytesRead < this.#far.bytesWritten) await once(this.#near, 'data');
    const found = { verdict: this.#verdict, reason: this.#reason };
    const token = randomBytes(16);
    const inStep = this.#reader.skipTo(token);
    this.#far.write(token);
    await inStep;
    return found;
  }
}

/** Sends a frame as a program of a session can. Returns what is wrong with the answer, or null. */
async function sendFromSession(subject: Subject, bytes: Buffer, verdict: Verdict): Promise<string | null> {
  const { outcome } = await run(subject, programThatSends(bytes));
  const isTold = outcome.status === 'crashed' && /broke the protocol/.test(outcome.reason);
  if (verdict === 'refused' && !isTold) return `it was told ${JSON.stringify(outcome)}`;
  for (let tries = 0; tries < TRIES; tries += 1)
    if ((await run(subject, 'print(6 * 7)')).logs.stdout === '42\n') return null;
  return 'it does not work any more';
}

function run({ session }: Subject, code: string): Promise<Execution> {
  return foldExecution(session.stream({ id: RUN, code, echo: 'none', timeoutMs: TIMEOUT_MS }), 10_000);
}

function programThatSends(bytes: Buffer): string {
  return `
import base64, os, stat, time
data = base64.b64decode("${bytes.toString('base64')}")
numbers = sorted(int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2)
control = next(fd for fd in numbers if os.path.exists(f"/proc/self/fd/{fd}") and stat.S_ISSOCK(os.fstat(fd).st_mode))
while data:
    data = data[os.write(control, data):]
time.sleep(0.05)
`;
}
