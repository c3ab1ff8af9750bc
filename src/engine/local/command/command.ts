import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { VivariumError } from '../../../errors.ts';
import type { Command, ExecResult } from '../../../execution/command.ts';
import type { CommandRequest } from '../../engine.ts';
import { ProtocolViolation } from '../../hostile-json.ts';
import type { CommandEnd, Enclosure } from '../enclosure/enclosure.ts';
import { signalName } from '../enclosure/exit.ts';
import { asSeenInside } from '../enclosure/options.ts';
import type { WorkerConnections, WorkerSocket } from '../instance/worker-socket.ts';
import { encodeFrame, FrameReader, parseEvent } from '../protocol/frames.ts';
import { CommandOutputs } from './output.ts';

const MAX_GREETING_BYTES = 4096;
/** Of the event loop. Between two of them, what has arrived is read. */
const TURNS_TO_READ = 3;
const Greeting = z.object({ pid: z.int(), problem: z.string().nullable() });

interface LocalCommandParts {
  readonly enclosure: Enclosure;
  readonly workerSocket: WorkerSocket;
  /** Of the session; those of the request come on top. */
  readonly variables: Readonly<Record<string, string>>;
  readonly request: CommandRequest;
}

/** A command of the system in an enclosure. Its pid 1 starts it, and says how it ended. */
export class LocalCommand implements Command {
  readonly pid: number;
  readonly result: Promise<ExecResult>;
  readonly #parts: LocalCommandParts;
  readonly #number: number;
  readonly #control: Socket;
  readonly #outputs: CommandOutputs;
  readonly #startedAt = performance.now();
  #stopping: { readonly reason: string; readonly isLate: boolean } | null = null;
  #timers: NodeJS.Timeout[] = [];

  private constructor(parts: LocalCommandParts, started: StartedCommand) {
    const { connections, ended } = started;
    const { request } = parts;
    this.#parts = parts;
    this.pid = started.pid;
    this.#number = started.number;
    this.#control = connections.control;
    this.#outputs = new CommandOutputs(connections, {
      maxBytes: request.maxOutputBytes,
      onOutput: request.onOutput,
      onLeft: () => this.#stop('its listener failed'),
    });
    this.result = this.#conduct(ended);
    this.result.catch(() => undefined); // the caller may look at it later
  }

  /** Starts a command, and waits until its walls are closed. */
  static async start(parts: LocalCommandParts): Promise<LocalCommand> {
    parts.request.signal?.throwIfAborted();
    return new LocalCommand(parts, await begin(parts));
  }

  async write(data: string | Uint8Array): Promise<void> {
    if (!this.#control.writable || this.#control.write(data)) return;
    const settled = new AbortController();
    const { signal } = settled;
    const over = Promise.race([once(this.#control, 'drain', { signal }), once(this.#control, 'close', { signal })]);
    await over.catch(() => undefined); // it reads no more
    settled.abort();
  }

  closeInput(): void {
    this.#control.end();
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<boolean> {
    return (await this.#parts.enclosure.signalCommand(this.#number, constants.signals[signal])) === null;
  }

  async #conduct(ended: Promise<CommandEnd>): Promise<ExecResult> {
    const { signal, timeoutMs } = this.#parts.request;
    const cancel = (): void => this.#stop('it was cancelled');
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    if (timeoutMs !== null) {
      this.#after(timeoutMs, () => this.#stop(`it took longer than ${timeoutMs} ms`, true));
    }
    const end = await ended;
    signal?.removeEventListener('abort', cancel);
    for (const timer of this.#timers) clearTimeout(timer);
    const durationMs = performance.now() - this.#startedAt;
    this.#control.destroy();
    const output = await this.#outputs.end();
    const reason = end.reason ?? this.#stopping?.reason;
    return {
      exitCode: end.code,
      signal: end.signal === null ? null : signalName(end.signal),
      ...output,
      timedOut: this.#stopping?.isLate ?? false,
      ...(reason !== undefined && { reason }),
      durationMs,
    };
  }

  /** Asks it to end, and ends it if it goes on. */
  #stop(reason: string, isLate = false): void {
    if (this.#stopping !== null) return;
    this.#stopping = { reason, isLate };
    void this.kill('SIGTERM');
    this.#after(this.#parts.enclosure.options.limits.graceMs, () => void this.kill());
  }

  #after(ms: number, act: () => void): void {
    this.#timers.push(setTimeout(act, ms).unref());
  }
}

interface StartedCommand {
  readonly number: number;
  readonly pid: number;
  readonly connections: WorkerConnections;
  readonly ended: Promise<CommandEnd>;
}

async function begin({ enclosure, workerSocket, variables, request }: LocalCommandParts): Promise<StartedCommand> {
  const ticket = randomBytes(16).toString('hex');
  const arriving = workerSocket.claim(ticket);
  const { number, ended, asked } = enclosure.startCommand(ticket);
  const failed = Promise.race([
    asked.then((problem) =>
      problem === null ? new Promise<never>(() => undefined) : Promise.reject(notStarted(problem)),
    ),
    ended.then(async ({ reason }) => {
      // A quick one has ended before we have read its greeting, which is in the socket then.
      for (let turn = 0; turn < TURNS_TO_READ; turn += 1) await setImmediate();
      throw notStarted(reason ?? 'it ended at once');
    }),
  ]);
  let connections: WorkerConnections | undefined;
  try {
    connections = await Promise.race([arriving, failed]);
    const { control } = connections;
    const { argv, cwd: directory } = request;
    const mounts = enclosure.options.mounts.map(asSeenInside);
    const greeting = readGreeting(control);
    control.write(encodeFrame({ argv, directory, variables: { ...variables, ...request.env }, mounts }));
    const { pid, problem } = await Promise.race([greeting, failed]);
    if (problem !== null) throw notStarted(problem);
    return { number, pid, connections, ended };
  } catch (error) {
    workerSocket.forget(ticket);
    for (const socket of Object.values(connections ?? {}) as Socket[]) socket.destroy();
    throw error;
  }
}

/** What the process says before it executes anything of a session. What the program writes there later is never read. */
async function readGreeting(control: Socket): Promise<z.infer<typeof Greeting>> {
  const reader = new FrameReader({ maxHeaderBytes: MAX_GREETING_BYTES });
  const { promise, resolve, reject } = Promise.withResolvers<z.infer<typeof Greeting>>();
  const onData = (chunk: Buffer): void => {
    try {
      reader.push(chunk, (frame) => resolve(parseEvent(Greeting, frame)));
    } catch (error) {
      reject(error);
    }
  };
  control.on('data', onData);
  control.resume();
  try {
    return await promise;
  } catch (error) {
    throw error instanceof ProtocolViolation ? notStarted(error.message) : error;
  } finally {
    control.off('data', onData);
    control.pause();
  }
}

function notStarted(problem: string): VivariumError {
  return new VivariumError(
    'ENGINE_FAILED',
    `A command could not be started: ${problem}. Try again; if that does not help, run \`vivarium doctor\`.`,
  );
}
