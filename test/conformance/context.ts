/** What the parts of the suite share. */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';
import { foldExecution } from '../../src/execution/transcript.ts';
import type { Event, Execution, Host, Limits, RunOptions, Session, SessionOptions } from '../../src/index.ts';

export interface Capabilities {
  /** The state before a crash, or before an interrupt that is ignored, is restored. */
  readonly restoresState: boolean;
  readonly rollsBack: boolean;
  readonly level: Execution['isolation']['level'];
  /** What the traceback of an exception on this line looks like. */
  readonly tracebackOf: (line: number) => RegExp;
  /** The death of a process is noticed within this time. */
  readonly noticesDeathMs: number;
  /** Commands of the system run beside the interpreter. */
  readonly runsCommands: boolean;
  /** Closing the host closes its sessions; otherwise they live on where they are. */
  readonly ownsSessions: boolean;
}

/** A host under test, and whatever it needs to run. */
export interface Testbed extends AsyncDisposable {
  readonly host: Host;
}

/** The caps that the suite expects of the host it is given. */
export const CAPS = { maxSessionsPerClient: 2, maxQueue: 2 } as const;

export type StartTestbed = (caps: typeof CAPS) => Promise<Testbed>;

export const LIMITS: Partial<Limits> = { graceMs: 300, timeoutMs: 30_000 };
export const ASLEEP = "print('begun', flush=True)\nimport time\ntime.sleep(60)";
export const NOT_FOUND = { code: 'SESSION_NOT_FOUND' };

export interface Context {
  readonly start: StartTestbed;
  readonly capabilities: Capabilities;
  readonly host: () => Host;
  /** A session that tests share: none may leave it broken. */
  readonly shared: () => Session;
  readonly open: (options?: SessionOptions) => Promise<Session>;
}

/** The text of the value of an expression. */
export async function evaluate(session: Session, expression: string): Promise<string | undefined> {
  return (await session.runCode(expression)).results[0]?.data['text/plain'];
}

export async function download(session: Session, path: string): Promise<Buffer> {
  return buffer(await session.files.download(path));
}

export function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

export async function messageOf(failing: Promise<unknown>): Promise<string> {
  const [result] = await Promise.allSettled([failing]);
  return result.status === 'rejected' ? (result.reason as Error).message : '';
}

/** Runs code that sleeps, and acts when it has begun. */
export async function whileRunning(session: Session, options: RunOptions, act: () => unknown): Promise<Execution> {
  let acting: Promise<unknown> | undefined;
  async function* watched(): AsyncGenerator<Event, void, undefined> {
    for await (const event of session.stream(ASLEEP, options)) {
      if (event.type === 'output') acting ??= Promise.resolve(act());
      yield event;
    }
  }
  const execution = await foldExecution(watched(), 1 << 20);
  expect(acting).toBeDefined();
  await acting;
  return execution;
}
