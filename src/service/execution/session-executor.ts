import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import type { Session } from '../../host/session.ts';
import { Transcript } from '../../execution/transcript.ts';
import { readPython } from '../../engine/python-files.ts';
import { WorkflowError } from '../api/failures.ts';
import { typesProbe, TYPES_VARIABLE } from '../results/actual-type.ts';
import type { CodeExecutor, Job, JobResult } from './job.ts';
import { NOTE_WORKSPACE, fullResults } from './full-results.ts';

const PROBE_TIMEOUT_MS = 10_000;
const ATTEMPTS_VARIABLE = '_vivarium_attempts';
const EFFECTS_NAME = '_vivarium_effects';

export interface SessionExecutorOptions {
  /** Called when code runs for the first time. */
  readonly open: () => Promise<Host>;
  readonly mounts: readonly { readonly source: string; readonly target: string; readonly writable: boolean }[];
  readonly memoryMb: number;
  /** Whether sessions run in Vivarium's own sandbox, which enforces network and memory limits. */
  readonly isSandboxed: boolean;
  /** Init code for read-only runs that refuses writes with a helpful message. The sandbox refuses them in any case. */
  readonly guard: (job: Job) => Promise<string>;
}

/** Runs each job in its own session. */
export class SessionExecutor implements CodeExecutor {
  readonly #options: SessionExecutorOptions;
  #opening: Promise<Host> | undefined;

  constructor(options: SessionExecutorOptions) {
    this.#options = options;
  }

  /** Whether the host has been started. */
  get isOpen(): boolean {
    return this.#opening !== undefined;
  }

  /** The host that runs the code. After a failed start, the next call tries again. */
  host(): Promise<Host> {
    this.#opening ??= this.#options.open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async run(job: Job): Promise<JobResult> {
    const host = await this.host();
    await using session = await this.#openSession(host, job);
    for (const file of job.files) await session.files.upload(file.name, file.read());
    if (job.context !== null) await session.setContext(job.context);
    const startedAt = new Date().toISOString();
    const transcript = await stream(session, job);
    const ran = transcript.execution();
    const limits = { maxBytes: job.maxResultsBytes, timeoutMs: job.timeoutMs };
    const value = await orElse(ran.value, () => fullResults(session, host.artifacts, ran.value, limits));
    const execution = value === undefined ? ran : { ...ran, value };
    const hasFailed = execution.outcome.status !== 'succeeded';
    return {
      startedAt,
      execution,
      python: host.environment.python,
      outputs: transcript.items(),
      resultTypes: hasFailed ? undefined : await ask(session, await this.#probe(job), TYPES_VARIABLE),
      attempts: job.isPreview
        ? await ask(session, `${ATTEMPTS_VARIABLE} = ${EFFECTS_NAME}()`, ATTEMPTS_VARIABLE)
        : null,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const host = await this.#opening?.catch(() => undefined);
    await host?.close();
  }

  async #openSession(host: Host, job: Job): Promise<Session> {
    const isReadOnly = job.mode === 'read_only';
    return host.createSession({
      initCode: [
        NOTE_WORKSPACE,
        ...(isReadOnly ? [await this.#options.guard(job)] : []),
        ...(job.isPreview ? [await listener()] : []),
      ].join('\n'),
      limits: { timeoutMs: job.timeoutMs, ...(this.#options.isSandboxed && { memoryMb: this.#options.memoryMb }) },
      mounts: this.#options.mounts.map((mount) => ({
        ...mount,
        writable: mount.writable && !isReadOnly && !job.isPreview,
      })),
      network: this.#options.isSandboxed && job.settings.network && !job.isPreview,
      environment: job.settings.environment,
      echo: 'none',
    });
  }

  async #probe({ expected }: Job): Promise<string> {
    return typesProbe(await readPython('cell/result_types.py'), Object.keys(expected));
  }
}

async function stream(session: Session, job: Job): Promise<Transcript> {
  const { code, signal, onEvent } = job;
  const transcript = new Transcript(1 << 20);
  try {
    for await (const event of session.stream(code, { resultVariable: 'results', ...(signal && { signal }) })) {
      transcript.add(event);
      onEvent?.(event);
    }
    const { outcome } = transcript.execution();
    if (outcome.status === 'cancelled' && signal?.aborted !== true) throw sessionEnded();
    if (outcome.status === 'crashed' && outcome.cause === 'connection') throw disconnected(outcome.reason);
  } catch (error) {
    throw job.mode === 'write_access' && !job.isPreview ? lost(error) : error;
  }
  return transcript;
}

function sessionEnded(): VivariumError {
  return new VivariumError('ENGINE_FAILED', 'The session ended before the code did. Check what closed the host.');
}

function disconnected(reason: string): VivariumError {
  return new VivariumError(
    'JUPYTER_UNREACHABLE',
    `While the code ran, ${reason}. Check that the server runs and that no proxy ends long connections.`,
  );
}

/** Code that may already have written something is not run again. */
function lost(cause: unknown): WorkflowError {
  return new WorkflowError(
    `The engine failed while the code ran: ${cause instanceof Error ? cause.message : String(cause)} Whether the code ran to its end is not known, so it is not run again. Check what it changed, and send a new request if needed.`,
    { stage: 'execution', cause },
  );
}

/** What the session reports about itself after the run. The reader validates the answer. */
function ask(session: Session, code: string, resultVariable: string): Promise<JobResult['attempts']> {
  return orElse(undefined, async () => {
    const { value } = await session.runCode(code, { resultVariable, timeoutMs: PROBE_TIMEOUT_MS });
    return value;
  });
}

/** The code has already run, so a failure from here on must not cause a retry. */
async function orElse<T>(otherwise: T, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof VivariumError) return otherwise;
    throw error;
  }
}

/** Init code that records what the program tries to do, in its own namespace. A JSON string is also a Python string. */
async function listener(): Promise<string> {
  const source = JSON.stringify(await readPython('effects.py'));
  return `${EFFECTS_NAME} = (lambda space: (exec(compile(${source}, "<effects>", "exec"), space), space["effects"])[1])({"__name__": "effects"})`;
}
