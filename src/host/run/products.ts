import type { ArtifactWriter } from '../../artifact/store.ts';
import type { Event, Listener, Summary } from '../../execution/event.ts';
import type { ProducedFile } from '../../execution/execution.ts';
import type { SessionSettings } from '../options.ts';
import { RunFigures } from './figures.ts';
import type { HostedFiles } from './files.ts';
import { Spills, type RunSpills } from './spills.ts';

interface ProductsParts {
  readonly sessionId: string;
  readonly store: ArtifactWriter;
  readonly files: HostedFiles;
  readonly settings: SessionSettings;
}

/** What the runs of a session leave behind besides its state: files, figures, long outputs. */
export class Products {
  readonly #parts: ProductsParts;
  readonly #spills: Spills;

  constructor(parts: ProductsParts) {
    this.#parts = parts;
    this.#spills = new Spills(parts.store, parts.files, parts.settings);
  }

  begin({ number, executionId }: { readonly number: number; readonly executionId: string }): RunProducts {
    const { sessionId, store, files } = this.#parts;
    return new RunProducts({ number, sessionId, executionId, store, files, spills: this.#spills });
  }
}

interface RunProductsParts extends Omit<ProductsParts, 'settings'> {
  readonly number: number;
  readonly executionId: string;
  readonly spills: Spills;
}

/** What one run leaves behind. */
export class RunProducts {
  readonly #parts: RunProductsParts;
  readonly #figures = new RunFigures();
  /** Most runs print nothing. */
  #outputs: RunSpills | undefined;
  #spills: Summary['spills'];

  constructor(parts: RunProductsParts) {
    this.#parts = parts;
  }

  /** Takes time only where a long output goes to its file. */
  hear(event: Event): Promise<void> | void {
    this.#figures.hear(event);
    if (event.type !== 'output') return undefined;
    this.#outputs ??= this.#parts.spills.begin();
    return this.#outputs.hear(event);
  }

  /** Tells what was produced. */
  async collect({ mayHaveWritten, savedFigures = [] }: Summary, tell: Listener): Promise<void> {
    const { files, spills, executionId } = this.#parts;
    const written: readonly ProducedFile[] = mayHaveWritten ? await files.produced(executionId) : [];
    for (const file of written) await tell({ type: 'file', file });
    if (this.#figures.isAny || savedFigures.length > 0) {
      for await (const figure of this.#figures.produced(savedFigures, written, this.#parts)) {
        await tell({ type: 'figure', figure });
      }
    }
    this.#spills = await this.#outputs?.keep(spills, this.#parts);
  }

  /** What is known of it only after `collect`: a run that filled the workspace has failed, even if it ended well. */
  complete(summary: Summary): Summary {
    const told = this.#spills === undefined ? summary : { ...summary, spills: this.#spills };
    const { excess } = this.#parts.files;
    if (excess === null || !summary.mayHaveWritten) return told;
    const hasEnded = summary.outcome.status === 'succeeded' || summary.outcome.status === 'raised';
    if (!excess.hasGrown || !hasEnded) return { ...told, state: { reason: excess.reason, ...summary.state } };
    return { ...told, outcome: { status: 'crashed', signal: null, exitCode: null, reason: excess.reason } };
  }

  /** Removes what was begun and not kept. */
  close(): Promise<void> | undefined {
    return this.#outputs?.[Symbol.asyncDispose]();
  }
}
