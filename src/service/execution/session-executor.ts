import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import type { Session } from '../../host/session.ts';
import { Transcript } from '../../execution/transcript.ts';
import { readPython } from '../../engine/python-files.ts';
import { WorkflowError } from '../api/failures.ts';
import { typesProbe, TYPES_VARIABLE } from '../results/actual-type.ts';
import type { CodeExecutor, Job, JobResult } from './job.ts';
import { NOTE_WORKSPACE, wholeResults } from './full-results.ts';

const PROBE_TIMEOUT_MS = 10_000;
const ATTEMPTS_VARIABLE = '_vivarium_attempts';
const EFFECTS_NAME = '_vivarium_effects';

export interface SessionExecutorOptions {
  /** Called when the first code is to run. */
  readonly open: () => Promise<Host>;
  readonly mounts: readonly { readonly source: string; readonly target: string; readonly writable: boolean }[];
  readonly memoryMb: number;
  /** Whether the walls are ours. */
  readonly isWalled: boolean;
  /** Refuses writes in read-only runs with words that help; the walls refuse them anyhow. */
  readonly guard: (job: Job) => Promise<string>;
}

/** Runs each piece of code in a session of its own. */
export class SessionExecutor implements CodeExecutor {
  readonly #options: SessionExecutorOptions;
  #opening: Promise<Host> | undefined;

  constructor(options: SessionExecutorOptions) {
    this.#options = options;
  }

  /** Whether it has run code, or tried to. */
  get isOpen(): boolean {
    return this.#opening !== undefined;
  }

  /** What runs the code; a start that failed is tried again by whoever asks next. */
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
    const bounds = { maxBytes: job.maxResultsBytes, timeoutMs: job.timeoutMs };
    const value = await orElse(ran.value, () => wholeResults(session, host.artifacts, ran.value, bounds));
    const execution = value === undefined ? ran : { ...ran, value };
    const isOver = execution.outcome.status !== 'succeeded';
    return {
      startedAt,
      execution,
      python: host.environment.python,
      outputs: transcript.items(),
      resultTypes: isOver ? undefined : await ask(session, await this.#probe(job), TYPES_VARIABLE),
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
      limits: { timeoutMs: job.timeoutMs, ...(this.#options.isWalled && { memoryMb: this.#options.memoryMb }) },
      mounts: this.#options.mounts.map((mount) => ({
        ...mount,
        writable: mount.writable && !isReadOnly && !job.isPreview,
      })),
      network: this.#options.isWalled && job.settings.network && !job.isPreview,
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
    if (outcome.status === 'cancelled' && signal?.aborted !== true) throw endedByOthers();
    if (outcome.status === 'crashed' && outcome.cause === 'connection') throw disconnected(outcome.reason);
  } catch (error) {
    throw job.mode === 'write_access' && !job.isPreview ? lost(error) : error;
  }
  return transcript;
}

function endedByOthers(): VivariumError {
  return new VivariumError(
    'ENGINE_FAILED',
    'Its session was ended before the code was. Look at who closed the engine.',
  );
}

function disconnected(reason: string): VivariumError {
  return new VivariumError(
    'JUPYTER_UNREACHABLE',
    `While the code ran, ${reason}. Check that the server runs and that nothing in between ends long connections.`,
  );
}

/** Code that may have written is not run again on the chance that it did not. */
function lost(cause: unknown): WorkflowError {
  return new WorkflowError(
    `The engine failed while the code ran: ${cause instanceof Error ? cause.message : String(cause)} Whether the code ran to its end is not known, so it is not run again. Look at what it changed, and ask for the code anew if need be.`,
    { stage: 'execution', cause },
  );
}

/** What the session says of itself after the code; whatever is wrong with the answer is for its reader to see. */
function ask(session: Session, code: string, resultVariable: string): Promise<JobResult['attempts']> {
  return orElse(undefined, async () => {
    const { value } = await session.runCode(code, { resultVariable, timeoutMs: PROBE_TIMEOUT_MS });
    return value;
  });
}

/** The code has run to its end: what fails from here on is no reason to run it again. */
async function orElse<T>(otherwise: T, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof VivariumError) return otherwise;
    throw error;
  }
}

/** Init code that notes what the program tries to do; in a namespace of its own. JSON strings are Python strings too. */
async function listener(): Promise<string> {
  const source = JSON.stringify(await readPython('effects.py'));
  return `${EFFECTS_NAME} = (lambda space: (exec(compile(${source}, "<effects>", "exec"), space), space["effects"])[1])({"__name__": "effects"})`;
}
