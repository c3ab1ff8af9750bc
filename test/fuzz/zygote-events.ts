/**
 * Zygote to host. Every event is read by the host's side of a zygote that a session waits for. One that it refuses ends that
 * zygote, and the session is told why; the engine of the witness, in the same process, goes on.
 */
import { EventEmitter, once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { Zygote, type EnclosureEvent } from '../../src/engine/local/zygote/zygote.ts';
import { within } from '../../src/engine/deadline.ts';
import { framed } from './envelope.ts';
import { Mutations } from './mutations.ts';
import type { FuzzOptions, FuzzOutcome } from './outcome.ts';
import { SocketPairs } from './socket-pairs.ts';

const PATIENCE_MS = 5000;
const TEMPLATES = [
  {
    event: 'ready',
    level: 'namespaces',
    python: '3',
    ownUids: true,
    proc: 'masked',
    cgroup: 'v1',
    cgroupReason: '',
    cgroupControllers: ['memory'],
  },
  { event: 'unavailable', problem: 'no' },
  { event: 'entered', groupDirectories: ['/sys/fs/cgroup/a'] },
  { event: 'opened', enclosure: 'e', uid: 5, place: { workspace: 'w', pid1: 5, worker: 6, group: null } },
  { event: 'failed', enclosure: 'e', problem: 'no' },
  { event: 'exited', enclosure: 'e', code: null, signal: 9, cause: null, problem: null },
  { event: 'gone', enclosure: 'other', cause: 'closed' },
  { event: 'unsurveyed' },
  { event: 'answer', request: 1, problem: null },
];

export async function fuzzZygoteEvents({ frames, seed }: FuzzOptions): Promise<FuzzOutcome> {
  const counts = { frames: 0, zygotesEnded: 0, told: 0 };
  const problems: string[] = [];
  const mutations = new Mutations(seed, TEMPLATES);
  await using pairs = await SocketPairs.open();
  let subject = await Watched.start(pairs);
  while (counts.frames < frames) {
    const mutation = mutations.next();
    await subject.hear(framed(mutations, mutation));
    counts.frames += 1;
    if (subject.isUsable) continue;
    const problem = await subject.finish();
    counts.zygotesEnded += 1;
    if (problem === null) counts.told += 1;
    else problems.push(`event ${counts.frames} (${mutation.kind}): ${problem}`);
    subject = await Watched.start(pairs);
  }
  await subject.finish();
  return { counts, problems };
}

/** A process that only says what it is told to, and ends when it is killed. */
class StandIn extends EventEmitter {
  readonly ended = Promise.withResolvers<string>();
  isKilled = false;

  kill(): boolean {
    this.isKilled = true;
    this.ended.resolve('');
    return true;
  }
}

/** A zygote and a session that listens to it. */
class Watched {
  readonly #zygote: Zygote;
  readonly #child: StandIn;
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #heard: EnclosureEvent[] = [];
  readonly #answer: Promise<string | null>;
  #written = 0;

  private constructor(child: StandIn, near: Socket, far: Socket) {
    this.#child = child;
    this.#near = near;
    this.#far = far;
    const surveyor = new Socket();
    surveyor.on('error', () => surveyor.destroy()); // there is none
    this.#zygote = new Zygote({
      python: '',
      cacheDir: '',
      child: child as unknown as ChildProcess,
      control: near,
      surveyor,
      ended: child.ended.promise,
    });
    this.#zygote.listen('e', (event) => this.#heard.push(event));
    this.#answer = this.#zygote.ask('e', { op: 'oomed' });
  }

  static async start(pairs: SocketPairs): Promise<Watched> {
    const { near, far } = await pairs.make();
    return new Watched(new StandIn(), near, far);
  }

  /** Whether the next event would still be read, and reach the session. */
  get isUsable(): boolean {
    const isOver = this.#heard.some(({ event }) => event === 'gone' || event === 'failed');
    return !this.#child.isKilled && !isOver && this.#written === 0;
  }

  /** Has the host read a frame. What is not complete ends here: whatever came next would be a part of it. */
  async hear(bytes: Buffer): Promise<void> {
    this.#far.write(bytes);
    while (this.#near.bytesRead < this.#far.bytesWritten) await once(this.#near, 'data');
    const claimed = bytes.readUInt32BE(0) + bytes.readUInt32BE(4) + 8;
    if (claimed !== bytes.length && !this.#child.isKilled) this.#written = claimed;
  }

  /** Ends it. Returns what its session was not told, or null. */
  async finish(): Promise<string | null> {
    const isBreach = this.#child.isKilled;
    this.#far.destroy();
    if (!isBreach) this.#child.kill();
    await this.#zygote.exited;
    const answer = await within(PATIENCE_MS, this.#answer, undefined);
    if (answer === undefined) return 'a question was never answered';
    const last = this.#heard.at(-1);
    if (last?.event === 'failed') return null;
    if (last?.event !== 'gone') return 'the session was not told that it is gone';
    const isTold = !isBreach || last.cause === 'closed' || /broke the protocol/.test(last.cause ?? '');
    return isTold ? null : `the session was told "${last.cause}"`;
  }
}
