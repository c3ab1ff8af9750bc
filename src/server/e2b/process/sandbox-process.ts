import type { Command, CommandOutput, ExecResult } from '../../../execution/command.ts';
import { Feed } from '../stream/feed.ts';

/** What was asked for, as `list` tells it. */
export interface ProcessConfig {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** What a reader of a process gets: its output, and how it ended. */
export type ProcessEvent =
  | { readonly data: Partial<Record<'stdout' | 'stderr', string>> }
  | { readonly end: ProcessEnd };

export interface ProcessEnd {
  readonly exitCode: number;
  readonly exited: boolean;
  readonly status: string;
  readonly error?: string;
}

/** A command that runs in a sandbox, with those who read its output. Output that nobody reads is dropped. */
export class SandboxProcess {
  readonly config: ProcessConfig;
  readonly tag: string | undefined;
  readonly hasInput: boolean;
  readonly #readers = new Set<Feed<ProcessEvent>>();
  #command: Command | null = null;
  #end: ProcessEnd | null = null;
  /** Whether it was ended because its time was over. */
  #isLate = false;

  constructor(
    config: ProcessConfig,
    { tag, hasInput }: { readonly tag: string | undefined; readonly hasInput: boolean },
  ) {
    this.config = config;
    this.tag = tag;
    this.hasInput = hasInput;
  }

  get pid(): number {
    return this.command.pid;
  }

  get command(): Command {
    if (this.#command === null) throw new TypeError('the command has not been started');
    return this.#command;
  }

  get isLate(): boolean {
    return this.#isLate;
  }

  /** Reads from now on. What the process does next waits until the reader has taken what came before. */
  read(): Feed<ProcessEvent> {
    const feed = new Feed<ProcessEvent>();
    if (this.#end === null) {
      this.#readers.add(feed);
    } else {
      void feed.push({ end: this.#end });
      feed.end();
    }
    return feed;
  }

  stopReading(feed: Feed<ProcessEvent>): void {
    this.#readers.delete(feed);
    feed.leave();
  }

  async take({ stream, text }: CommandOutput): Promise<void> {
    const event = { data: { [stream]: Buffer.from(text).toString('base64') } };
    await Promise.all([...this.#readers].map((reader) => reader.push(event)));
  }

  /** Called once the command runs. Resolves when it has ended and all readers know. */
  async follow(command: Command): Promise<void> {
    this.#command = command;
    const result = await command.result;
    this.#isLate = result.timedOut;
    this.#end = describeEnd(result);
    for (const reader of this.#readers) {
      void reader.push({ end: this.#end });
      reader.end();
    }
    this.#readers.clear();
  }
}

/** In the words of the programs that E2B's users run, which are those of Go. */
function describeEnd({ exitCode, signal, reason }: ExecResult): ProcessEnd {
  const name = signal === null ? '' : (SIGNALS.get(signal) ?? signal);
  const status = signal === null ? `exit status ${exitCode}` : `signal: ${name}`;
  const problem = reason === undefined ? status : `${status} (${reason})`;
  return { exitCode: exitCode ?? -1, exited: signal === null, status, ...(exitCode !== 0 && { error: problem }) };
}

const SIGNALS: ReadonlyMap<string, string> = new Map([
  ['SIGKILL', 'killed'],
  ['SIGTERM', 'terminated'],
  ['SIGINT', 'interrupt'],
  ['SIGSEGV', 'segmentation fault'],
  ['SIGABRT', 'aborted'],
]);
