import { messageOf } from '../../../artifact/failure.ts';
import type { ArtifactWriter } from '../../../artifact/store.ts';
import type { Limits } from '../../../config.ts';
import type { Event, Listener, Summary } from '../../../execution/event.ts';
import type { ProducedFile } from '../../../execution/execution.ts';
import { remarkedReceipt } from '../../../execution/state.ts';
import { RunFigures } from './figures.ts';
import type { HostedFiles } from './files.ts';
import { OutputFiles, type RunOutputFiles } from './output-files.ts';

interface SessionArtifactsParts {
  readonly sessionId: string;
  readonly store: ArtifactWriter;
  readonly files: HostedFiles;
  readonly limits: Limits;
}

/** What the runs of a session produce besides its state: files, figures, and files with long output. */
export class SessionArtifacts {
  readonly #parts: SessionArtifactsParts;
  readonly #outputFiles: OutputFiles;

  constructor(parts: SessionArtifactsParts) {
    this.#parts = parts;
    this.#outputFiles = new OutputFiles(parts.store, parts.files, parts.limits);
  }

  beginRun({ number, executionId }: { readonly number: number; readonly executionId: string }): RunArtifacts {
    const { sessionId, store, files } = this.#parts;
    return new RunArtifacts({ number, sessionId, executionId, store, files, outputFiles: this.#outputFiles });
  }
}

interface RunArtifactsParts extends Omit<SessionArtifactsParts, 'limits'> {
  readonly number: number;
  readonly executionId: string;
  readonly outputFiles: OutputFiles;
}

/** What one run produces. */
export class RunArtifacts {
  readonly #parts: RunArtifactsParts;
  readonly #figures = new RunFigures();
  /** Most runs print nothing. */
  #outputs: RunOutputFiles | undefined;
  #spills: Summary['spills'];
  /** Why its files are not known. */
  #problem: string | null = null;

  constructor(parts: RunArtifactsParts) {
    this.#parts = parts;
  }

  /** Takes time only if a long output is written to its file. */
  onEvent(event: Event): Promise<void> | void {
    this.#figures.onEvent(event);
    if (event.type !== 'output') return undefined;
    this.#outputs ??= this.#parts.outputFiles.beginRun();
    return this.#outputs.onEvent(event);
  }

  /** Keeps what was produced, and passes it on as events. */
  async collect({ mayHaveWritten, savedFigures = [] }: Summary, listener: Listener): Promise<void> {
    const { outputFiles } = this.#parts;
    const written = mayHaveWritten ? await this.#collectFiles() : [];
    for (const file of written) await listener({ type: 'file', file });
    if (this.#figures.isAny || savedFigures.length > 0) {
      for await (const figure of this.#figures.collect(savedFigures, written, this.#parts)) {
        await listener({ type: 'figure', figure });
      }
    }
    this.#spills = await this.#outputs?.keep(outputFiles, this.#parts);
  }

  /** If the workspace cannot be listed, the run has its answer all the same, and the next run tells of the files. */
  async #collectFiles(): Promise<readonly ProducedFile[]> {
    const { files, executionId } = this.#parts;
    try {
      return await files.collect(executionId);
    } catch (error) {
      const reason = messageOf(error).replace(/\.$/, '');
      this.#problem = `the files that this run may have written could not be listed, which the next run does: ${reason}`;
      return [];
    }
  }

  /** Adds what is known only after `collect`. A run that overfilled the workspace has failed, even if its code succeeded. */
  complete(summary: Summary): Summary {
    const { files } = this.#parts;
    const { lateCopies, notCompared } = files;
    let { state } = summary;
    for (const loss of lateCopies.losses) state = remarkedReceipt(state, loss, () => lateCopies.onTold(loss));
    if (this.#problem !== null) state = remarkedReceipt(state, this.#problem);
    const complete = {
      ...summary,
      ...(this.#spills !== undefined && { spills: this.#spills }),
      ...(summary.mayHaveWritten && notCompared > 0 && { unseenFiles: notCompared }),
      state,
    };
    const { excess } = files;
    if (excess === null || !summary.mayHaveWritten) return complete;
    const hasEnded = summary.outcome.status === 'succeeded' || summary.outcome.status === 'raised';
    if (!excess.hasGrown || !hasEnded) return { ...complete, state: remarkedReceipt(complete.state, excess.reason) };
    return { ...complete, outcome: { status: 'crashed', signal: null, exitCode: null, reason: excess.reason } };
  }

  /** Removes files that were begun and not kept. */
  close(): Promise<void> | undefined {
    return this.#outputs?.[Symbol.asyncDispose]();
  }
}
