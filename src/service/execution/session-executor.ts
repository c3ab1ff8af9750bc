import type { NetworkSetting } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Execution, Json } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import type { FileList, Session } from '../../host/session.ts';
import { NOTE_WORKSPACE } from '../../host/whole-value.ts';
import { Transcript } from '../../execution/transcript.ts';
import { readPayload } from '../../engine/python-files.ts';
import { Once } from '../../once.ts';
import { assign, runSource } from '../../text/code/python-code.ts';
import { WorkflowError } from '../api/failures.ts';
import { parseTypes, typesProbe, TYPES_VARIABLE } from '../results/actual-type.ts';
import type { CodeExecutor, Job, JobResult, LeftFile } from './job.ts';
import { unanswered } from './unanswered.ts';
import { fullResults } from './full-results.ts';

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
  /** Init code for read-only runs: it tells code that writes what to do instead. It enforces nothing; the sandbox does. */
  readonly notice: (job: Job) => Promise<string>;
  /** Init code for runs that may write: it checks values against the limits of their channels. Null for none. */
  readonly limits?: () => Promise<string | null>;
}

/** Runs each job in its own session. */
export class SessionExecutor implements CodeExecutor {
  readonly #options: SessionExecutorOptions;
  readonly #host = new Once(() => this.#options.open());

  constructor(options: SessionExecutorOptions) {
    this.#options = options;
  }

  /** Whether the host has been started. */
  get isOpen(): boolean {
    return this.#host.isStarted;
  }

  /** The host that runs the code. After a failed start, the next call tries again. */
  host(): Promise<Host> {
    return this.#host.get();
  }

  async run(job: Job): Promise<JobResult> {
    const host = await this.host();
    await using session = await this.#openSession(host, job);
    for (const file of job.files) await session.files.upload(file.name, file.read());
    await session.setContext(job.context ?? {}); // the model was told that it is there
    const before = job.isPreview ? await session.files.list() : null;
    const startedAt = new Date().toISOString();
    const transcript = await stream(session, job);
    const ran = transcript.execution();
    const limits = { maxBytes: job.maxResultsBytes, timeoutMs: job.timeoutMs };
    const value = await asking('All of `results`', () => fullResults(session, host.artifacts, ran.value, limits));
    return {
      startedAt,
      execution: value === undefined ? ran : { ...ran, value },
      python: host.environment.python,
      outputs: transcript.items(),
      resultTypes: ran.outcome.status === 'succeeded' ? await this.#askForTypes(session, job) : undefined,
      attempts: job.isPreview ? await askForAttempts(session, ran) : null,
      leftFiles: before === null ? [] : writtenSince(before, await session.files.list()),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const host = await this.#host.settled();
    await host?.close();
  }

  async #openSession(host: Host, job: Job): Promise<Session> {
    const isReadOnly = job.mode === 'read_only';
    const limits = isReadOnly ? null : ((await this.#options.limits?.()) ?? null);
    return host.createSession({
      initCode: [
        NOTE_WORKSPACE,
        ...(isReadOnly ? [await this.#options.notice(job)] : []),
        ...(limits === null ? [] : [limits]),
        ...(job.isPreview ? [await effectsListener()] : []),
      ].join('\n'),
      limits: { timeoutMs: job.timeoutMs, ...(this.#options.isSandboxed && { memoryMb: this.#options.memoryMb }) },
      mounts: this.#options.mounts.map((mount) => ({
        ...mount,
        writable: mount.writable && !isReadOnly && !job.isPreview,
      })),
      network: !job.isPreview && this.#networkOf(job),
      env: job.settings.environment,
      echo: 'none',
    });
  }

  /** A list goes to every host: one that cannot enforce it refuses the session. */
  #networkOf({ settings: { network } }: Job): NetworkSetting {
    return typeof network === 'object' ? network : this.#options.isSandboxed && network;
  }

  async #askForTypes(session: Session, { expected }: Job): Promise<Json | undefined> {
    const code = typesProbe(await readPayload('result_types'), Object.keys(expected));
    const isAnswer = (value: Json | undefined): boolean => parseTypes(value) !== undefined;
    return ask(session, { what: 'The types of `results`', code, resultVariable: TYPES_VARIABLE, isAnswer });
  }
}

/** What is in the workspace after a run and was not before it, seen from outside: its session can hide files from `files`. */
function writtenSince(before: FileList, after: FileList): LeftFile[] {
  const known = new Set(before.files.map(identityOf));
  return after.files.filter((file) => !known.has(identityOf(file))).map(({ path, sizeBytes }) => ({ path, sizeBytes }));
}

function identityOf({ path, sizeBytes, modifiedAt }: FileList['files'][number]): string {
  return JSON.stringify([path, sizeBytes, modifiedAt]);
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

/** A preview that lost its state has lost these notes too. Its outcome says so, and it counts as incomplete. */
async function askForAttempts(session: Session, { state }: Execution): Promise<Json | undefined> {
  if (state.status !== 'preserved') return undefined;
  return ask(session, {
    what: 'What the code tried to do in its preview',
    code: `${ATTEMPTS_VARIABLE} = ${EFFECTS_NAME}()`,
    resultVariable: ATTEMPTS_VARIABLE,
    isAnswer: (value) => value !== undefined,
  });
}

interface Question {
  readonly what: string;
  readonly code: string;
  readonly resultVariable: string;
  readonly isAnswer: (value: Json | undefined) => boolean;
}

/** Asks the session about the code that it has just run. An answer that does not come is an error. */
function ask(session: Session, { what, code, resultVariable, isAnswer }: Question): Promise<Json | undefined> {
  return asking(what, async () => {
    const { value, outcome, error } = await session.runCode(code, { resultVariable, timeoutMs: PROBE_TIMEOUT_MS });
    if (outcome.status !== 'succeeded' || !isAnswer(value)) throw unanswered(what, outcome, error);
    return value;
  });
}

/** The code has already run, so a failure from here on must not cause a retry. */
async function asking<T>(what: string, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (cause) {
    if (!(cause instanceof VivariumError)) throw cause;
    throw new WorkflowError(
      `${what} could not be read from the session after the code had run: ${cause.message} The code is not run again. Look at what it changed, and ask for new code if needed.`,
      { stage: 'execution', cause },
    );
  }
}

/** Init code that records what the program tries to do, in its own namespace. */
export async function effectsListener(): Promise<string> {
  const source = await readPayload('effects');
  return assign(EFFECTS_NAME, runSource({ source, name: 'effects', result: 'names["effects"]' }));
}
