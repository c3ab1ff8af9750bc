import type { ArtifactWriter } from '../../artifact/store.ts';
import type { Event, Summary } from '../../execution/event.ts';
import type { Spill as SpillFacts } from '../../execution/execution.ts';
import { TOLD_CHARS } from '../../execution/output-budget.ts';
import type { SessionSettings } from '../options.ts';
import type { HostedFiles } from './files.ts';
import { Spill } from './spill.ts';

const DIRECTORY = '.output';
const STREAMS = ['stdout', 'stderr'] as const;

/** Long outputs of a session's runs: each in a file of the workspace, where the next run can read it. */
export class Spills {
  readonly #store: ArtifactWriter;
  readonly #files: HostedFiles;
  readonly #limits: { readonly toldBytes: number; readonly maxBytes: number };
  /** What is in the workspace now, oldest first. */
  readonly #placed: { readonly path: string; readonly sizeBytes: number }[] = [];

  constructor(store: ArtifactWriter, files: HostedFiles, { limits }: SessionSettings) {
    this.#store = store;
    this.#files = files;
    this.#limits = { toldBytes: Math.min(limits.outputBytes, TOLD_CHARS), maxBytes: limits.spillMb * 2 ** 20 };
  }

  begin(): RunSpills {
    return new RunSpills({
      stdout: new Spill(this.#store, this.#limits),
      stderr: new Spill(this.#store, this.#limits),
    });
  }

  /**
   * Puts an output into the workspace, in place of older ones if there is no room for all, and says where the next run
   * finds it. A workspace that takes no file is no reason to fail the run.
   */
  async place(
    path: string,
    artifact: { readonly id: string; readonly sizeBytes: number },
  ): Promise<string | undefined> {
    if (this.#files.isForOneRun) return undefined; // nobody will ever look there
    return this.#put(path, artifact).then(
      () => this.#files.pathInSession(path),
      () => undefined,
    );
  }

  async #put(path: string, artifact: { readonly id: string; readonly sizeBytes: number }): Promise<void> {
    const room = this.#limits.maxBytes - artifact.sizeBytes;
    const size = (): number => this.#placed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    for (let oldest = this.#placed[0]; oldest !== undefined && size() > room; oldest = this.#placed[0]) {
      this.#placed.shift();
      await this.#files.discard(oldest.path);
    }
    const content = await this.#store.open(artifact.id);
    try {
      await this.#files.put(path, content);
    } finally {
      content.destroy(); // a workspace that refuses the file leaves it unread
    }
    this.#placed.push({ path, sizeBytes: artifact.sizeBytes });
  }
}

/** The long outputs of one run. */
export class RunSpills implements AsyncDisposable {
  readonly #streams: Readonly<Record<'stdout' | 'stderr', Spill>>;

  constructor(streams: Readonly<Record<'stdout' | 'stderr', Spill>>) {
    this.#streams = streams;
  }

  /** Takes time only where the output is long. */
  hear(event: Event): Promise<void> | void {
    return event.type === 'output' ? this.#streams[event.stream].add(event.text) : undefined;
  }

  /** Where the outputs are that are too long to be told. */
  async keep(
    spills: Spills,
    run: { number: number; sessionId: string; executionId: string },
  ): Promise<Summary['spills']> {
    const { number, sessionId, executionId } = run;
    const found: { stdout?: SpillFacts; stderr?: SpillFacts } = {};
    for (const stream of STREAMS) {
      const name = `${DIRECTORY}/run-${number}.${stream}.txt`;
      const spill = this.#streams[stream];
      const artifact = spill.keep({ name, sessionId, executionId });
      if (artifact === undefined) continue;
      const path = await spills.place(name, artifact);
      const { id, sizeBytes } = artifact;
      found[stream] = { ...(path !== undefined && { path }), id, sizeBytes, ...(spill.isCut && { isCut: true }) };
    }
    return found.stdout === undefined && found.stderr === undefined ? undefined : found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of STREAMS) await this.#streams[stream][Symbol.asyncDispose]();
  }
}
