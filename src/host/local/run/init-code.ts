import { randomUUID } from 'node:crypto';
import type { Limits } from '../../../config.ts';
import type { EngineSession } from '../../../engine/engine.ts';
import { VivariumError } from '../../../errors.ts';
import { describeOutcome } from '../../../execution/description.ts';
import type { Execution } from '../../../execution/execution.ts';
import { Transcript } from '../../../execution/transcript.ts';
import type { RunHistory } from '../../../notebook/history.ts';

interface InitSettings {
  readonly initCode: string | null;
  readonly limits: Limits;
}

/** Code that runs once before everything else in a session, and again whenever its state is that of a fresh interpreter. */
export class InitCode {
  readonly #inner: EngineSession;
  readonly #settings: InitSettings;
  readonly #history: RunHistory;
  #status: 'due' | 'done' | 'failed';

  constructor(inner: EngineSession, settings: InitSettings, history: RunHistory) {
    this.#inner = inner;
    this.#history = history;
    this.#settings = settings;
    this.#status = settings.initCode === null ? 'done' : 'due';
  }

  /** The state is that of a fresh interpreter. */
  onFreshState(): void {
    if (this.#settings.initCode !== null) this.#status = 'due';
  }

  get isDue(): boolean {
    return this.#status !== 'done';
  }

  /** Runs the code if it is due. On abort it rejects with the reason. */
  async run(signal: AbortSignal): Promise<void> {
    const { initCode, limits } = this.#settings;
    if (initCode === null || !this.isDue) return;
    signal.throwIfAborted();
    if (this.#status === 'failed') await this.#startAfresh();
    this.#status = 'failed';
    const execution = await this.#execute(initCode, limits, signal);
    if (execution.outcome.status === 'cancelled') signal.throwIfAborted();
    if (execution.outcome.status !== 'succeeded') throw initFailed(this.#inner.id, execution);
    this.#status = 'done';
  }

  /** It may have done half of its work. The caller has not asked for this, so that what happened before is still told. */
  async #startAfresh(): Promise<void> {
    await this.#inner.reset({ keepsNotices: true });
    await this.#inner.revive(); // so that the fresh interpreter does not count as one that has replaced a lost one
    this.#history.onFreshInterpreter();
  }

  async #execute(code: string, { timeoutMs, outputBytes }: Limits, signal: AbortSignal): Promise<Execution> {
    const transcript = new Transcript(outputBytes);
    const record = this.#history.begin({ code, echo: 'none', kind: 'init' });
    const kind = { isUndoable: false, isInternal: true };
    const request = { id: randomUUID(), code, echo: 'none', timeoutMs, ...kind, signal } as const;
    const summary = await this.#inner.run(request, (event) => transcript.add(event));
    record(transcript.items(), summary);
    transcript.add({ type: 'done', summary });
    return transcript.execution();
  }
}

function initFailed(id: string, { outcome, error, logs }: Execution): VivariumError {
  const details = (error?.traceback ?? logs.stderr).trim();
  return new VivariumError(
    'INIT_FAILED',
    `${describeOutcome(outcome, `The init code of session ${id}`)}. Fix it, or leave it out.${details && `\n${details}`}`,
    { cause: error ?? outcome },
  );
}
