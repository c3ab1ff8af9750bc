import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { setImmediate } from 'node:timers/promises';
import type { CommandOutput, ExecResult } from '../../../execution/command.ts';
import { OutputBudget } from '../../../execution/output-budget.ts';
import { EventQueue } from '../../event-queue.ts';

/** More than the sockets hold, so that what comes after it was printed after the end of the command. */
const MAX_LATE_BYTES = 4 << 20;
/** Between two turns of the event loop everything that has arrived is read. */
const QUIET_TURNS = 2;

const STREAMS = ['stdout', 'stderr'] as const;
type Streams<T> = Readonly<Record<(typeof STREAMS)[number], T>>;

export interface OutputOptions {
  /** Of each stream. */
  readonly maxBytes: number;
  /** A slow one slows the command down. */
  readonly onOutput?: ((output: CommandOutput) => Promise<void> | void) | undefined;
  /** It has thrown. */
  readonly onLeft: () => void;
}

/** What a command prints: passed on at once, and kept within a budget. */
export class CommandOutputs {
  readonly #sockets: Streams<Socket>;
  readonly #decoders: Streams<StringDecoder> = { stdout: new StringDecoder(), stderr: new StringDecoder() };
  readonly #budgets: Streams<OutputBudget>;
  readonly #queue: EventQueue<CommandOutput>;

  constructor(sockets: Streams<Socket>, { maxBytes, onOutput, onLeft }: OutputOptions) {
    this.#sockets = sockets;
    this.#budgets = { stdout: new OutputBudget(maxBytes), stderr: new OutputBudget(maxBytes) };
    this.#queue = new EventQueue<CommandOutput>({
      listener: (output) => onOutput?.(output),
      onPressure: (isFull) => {
        for (const stream of STREAMS) {
          if (isFull) sockets[stream].pause();
          else sockets[stream].resume();
        }
      },
      onLeft,
    });
    for (const stream of STREAMS) {
      sockets[stream].on('data', (bytes) => this.#print(stream, this.#decoders[stream].write(bytes)));
      sockets[stream].resume();
    }
  }

  /** The command has ended. What it printed is here or in the sockets; what it left running is not listened to any more. */
  async end(): Promise<Pick<ExecResult, 'stdout' | 'stderr' | 'truncated'>> {
    this.#queue.hurry();
    await this.#drain();
    for (const stream of STREAMS) {
      this.#sockets[stream].destroy();
      this.#print(stream, this.#decoders[stream].end());
    }
    await this.#queue.delivered();
    const { stdout, stderr } = this.#budgets;
    const truncated = { ...named('stdout', stdout.truncation()), ...named('stderr', stderr.truncation()) };
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      ...(Object.keys(truncated).length > 0 && { truncated }),
    };
  }

  #print(stream: CommandOutput['stream'], text: string): void {
    if (text === '') return;
    this.#budgets[stream].add(text);
    this.#queue.push({ stream, text }, text.length);
  }

  async #drain(): Promise<void> {
    const first = this.#bytesRead;
    let before = first;
    for (let quiet = 0; quiet < QUIET_TURNS && this.#isOpen && before - first < MAX_LATE_BYTES; quiet += 1) {
      await setImmediate();
      if (this.#bytesRead !== before) quiet = -1;
      before = this.#bytesRead;
    }
  }

  get #bytesRead(): number {
    return this.#sockets.stdout.bytesRead + this.#sockets.stderr.bytesRead;
  }

  get #isOpen(): boolean {
    return !(this.#sockets.stdout.readableEnded && this.#sockets.stderr.readableEnded);
  }
}

function named<T>(name: string, value: T | undefined): Readonly<Record<string, T>> {
  return value === undefined ? {} : { [name]: value };
}
