import type { ArtifactWriter } from '../../../artifact/store.ts';
import type { Limits } from '../../../config.ts';
import type { Event, Summary } from '../../../execution/event.ts';
import type { Spill } from '../../../execution/execution.ts';
import { TOLD_CHARS } from '../../../execution/output-budget.ts';
import type { HostedFiles } from './files.ts';
import { OutputFile, type OutputFileLimits } from './output-file.ts';

const DIRECTORY = '.output';
const STREAMS = ['stdout', 'stderr'] as const;

/** Long outputs of a session's runs, each in a file of the workspace, where the next run can read it. */
export class OutputFiles {
  readonly #store: ArtifactWriter;
  readonly #files: HostedFiles;
  readonly #limits: OutputFileLimits;
  /** The files that are in the workspace now, oldest first. */
  readonly #written: { readonly path: string; readonly sizeBytes: number }[] = [];

  constructor(store: ArtifactWriter, files: HostedFiles, limits: Limits) {
    this.#store = store;
    this.#files = files;
    this.#limits = { inlineBytes: Math.min(limits.outputBytes, TOLD_CHARS), maxBytes: limits.spillMb * 2 ** 20 };
  }

  beginRun(): RunOutputFiles {
    return new RunOutputFiles({
      stdout: new OutputFile(this.#store, this.#limits),
      stderr: new OutputFile(this.#store, this.#limits),
    });
  }

  /**
   * Writes an output into the workspace and says where the next run finds it. Older ones are removed if there is no room
   * for all. If the workspace refuses the file, the run does not fail.
   */
  async write(
    path: string,
    artifact: { readonly id: string; readonly sizeBytes: number },
  ): Promise<string | undefined> {
    if (this.#files.isForOneRun) return undefined; // no later run could read it
    return this.#put(path, artifact).then(
      () => this.#files.pathInSession(path),
      () => undefined,
    );
  }

  async #put(path: string, artifact: { readonly id: string; readonly sizeBytes: number }): Promise<void> {
    const room = this.#limits.maxBytes - artifact.sizeBytes;
    const size = (): number => this.#written.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    for (let oldest = this.#written[0]; oldest !== undefined && size() > room; oldest = this.#written[0]) {
      this.#written.shift();
      await this.#files.discard(oldest.path);
    }
    const content = await this.#store.open(artifact.id);
    try {
      await this.#files.put(path, content);
    } finally {
      content.destroy(); // if the workspace refused the file, the content was not read to its end
    }
    this.#written.push({ path, sizeBytes: artifact.sizeBytes });
  }
}

/** The long outputs of one run. */
export class RunOutputFiles implements AsyncDisposable {
  readonly #streams: Readonly<Record<'stdout' | 'stderr', OutputFile>>;

  constructor(streams: Readonly<Record<'stdout' | 'stderr', OutputFile>>) {
    this.#streams = streams;
  }

  /** Takes time only if the output is long. */
  onEvent(event: Event): Promise<void> | void {
    return event.type === 'output' ? this.#streams[event.stream].add(event.text) : undefined;
  }

  /** Keeps the outputs that are too long for the result, and says where they are. */
  async keep(
    outputFiles: OutputFiles,
    run: { number: number; sessionId: string; executionId: string },
  ): Promise<Summary['spills']> {
    const { number, sessionId, executionId } = run;
    const found: { stdout?: Spill; stderr?: Spill } = {};
    for (const stream of STREAMS) {
      const name = `${DIRECTORY}/run-${number}.${stream}.txt`;
      const file = this.#streams[stream];
      const artifact = await file.keep({ name, sessionId, executionId });
      if (file.loss !== null) found[stream] = file.loss;
      if (artifact === undefined) continue;
      const path = await outputFiles.write(name, artifact);
      const { id, sizeBytes } = artifact;
      found[stream] = { ...(path !== undefined && { path }), id, sizeBytes, ...(file.isCut && { isCut: true }) };
    }
    return found.stdout === undefined && found.stderr === undefined ? undefined : found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of STREAMS) await this.#streams[stream][Symbol.asyncDispose]();
  }
}
