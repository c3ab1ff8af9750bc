import type { Artifacts } from '../../artifact/artifact.ts';
import { VivariumError } from '../../errors.ts';
import type { Execution, ProducedFigure, ProducedFile } from '../../execution/execution.ts';
import { bytesOf, extensionOf, isImage } from '../pictures.ts';
import type { RunFolder, StoredFile } from './artifact-folder.ts';
import { stderrOf } from './outcome.ts';

/** What a run came to: these five keys and no other. */
export interface CodeInterpreterPayload {
  readonly stdout: string;
  readonly stderr: string;
  readonly files: readonly StoredFile[];
  readonly plots: readonly StoredFile[];
  readonly dataframes: readonly { readonly name: string; readonly repr: string }[];
}

/** So many files that were not kept are named. */
const MAX_NOTES = 5;

export interface PayloadParts {
  readonly execution: Execution;
  readonly artifacts: Artifacts;
  readonly folder: RunFolder;
  /** Whether plots are listed under `files` too. */
  readonly plotsInFiles: boolean;
}

export async function payloadOf({
  execution,
  artifacts,
  folder,
  plotsInFiles,
}: PayloadParts): Promise<CodeInterpreterPayload> {
  const collection = new Collection(execution, artifacts, folder);
  const plots = await collection.plots();
  const files = await collection.files();
  return {
    stdout: execution.logs.stdout,
    stderr: [stderrOf(execution), ...collection.notes].filter((part) => part !== '').join('\n'),
    files: plotsInFiles ? [...files, ...plots].toSorted(byPath) : files,
    plots,
    dataframes: execution.dataframes.map(({ name, repr }) => ({ name, repr })),
  };
}

/** Copies what a run produced out of the store, each thing once. */
class Collection {
  readonly #execution: Execution;
  readonly #artifacts: Artifacts;
  readonly #folder: RunFolder;
  readonly #lost: string[] = [];

  constructor(execution: Execution, artifacts: Artifacts, folder: RunFolder) {
    this.#execution = execution;
    this.#artifacts = artifacts;
    this.#folder = folder;
  }

  /** What there is to say about files that are not listed. */
  get notes(): readonly string[] {
    const more = this.#lost.length - MAX_NOTES;
    return [...this.#lost.slice(0, MAX_NOTES), ...(more > 0 ? [`${more} more files were not kept.`] : [])];
  }

  /** Figures in the order in which they came, under the name that the run saved them by or else numbered; then other images. */
  async plots(): Promise<StoredFile[]> {
    const { figures, files } = this.#execution;
    const images = new Map(files.filter(isImage).map((file) => [file.path, file]));
    const names = new Set(files.map(({ path }) => path));
    const plots: (StoredFile | null)[] = [];
    for (const figure of figures) {
      const file = images.get(figure.path ?? '');
      plots.push(file === undefined ? await this.#addNumbered(figure, names) : await this.#copy(file));
      images.delete(figure.path ?? '');
    }
    return [...plots.filter((plot) => plot !== null), ...(await this.#copyAll([...images.values()]))];
  }

  /** Everything else, and all of an output that is too long to be told. */
  files(): Promise<StoredFile[]> {
    const { files, spills = {} } = this.#execution;
    return this.#copyAll([
      ...files.filter((file) => !isImage(file)),
      ...Object.entries(spills).map(([stream, spill]) => ({ ...spill, path: `.output/${stream}.txt` })),
    ]);
  }

  async #addNumbered(figure: ProducedFigure, names: Set<string>): Promise<StoredFile | null> {
    const bytes = await bytesOf(figure, this.#execution, this.#artifacts);
    if (bytes === null) return null;
    const extension = extensionOf(figure.mime);
    let number = 1;
    while (names.has(`plots/plot_${number}${extension}`)) number += 1;
    const name = `plots/plot_${number}${extension}`;
    names.add(name);
    return this.#folder.add(name, bytes, bytes.length);
  }

  async #copyAll(files: readonly Copyable[]): Promise<StoredFile[]> {
    const stored: StoredFile[] = [];
    for (const file of files.toSorted(byPath)) {
      const copy = await this.#copy(file);
      if (copy !== null) stored.push(copy);
    }
    return stored;
  }

  /** A file that cannot be handed over is not listed: every path that is listed can be opened. */
  async #copy({ path, id, sizeBytes, notKept }: Copyable): Promise<StoredFile | null> {
    try {
      if (id !== undefined) return await this.#folder.add(path, await this.#artifacts.open(id), sizeBytes);
      this.#lost.push(`The file ${path} was not kept: ${notKept ?? 'no copy was made'}.`);
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error;
      this.#lost.push(`The file ${path} was not kept: ${error.message}`);
    }
    return null;
  }
}

type Copyable = Pick<ProducedFile, 'path' | 'id' | 'sizeBytes' | 'notKept'>;

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1;
}
