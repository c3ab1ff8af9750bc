import type { Artifacts } from '../../artifact/artifact.ts';
import { extensionOf, isImage } from '../../artifact/mime.ts';
import { VivariumError } from '../../errors.ts';
import type { Execution, ProducedFigure, ProducedFile } from '../../execution/execution.ts';
import { figureBytes } from '../figures.ts';
import { outputName, type RunFolder, type StoredFile } from './artifact-folder.ts';
import { stderrOf } from './result.ts';

/** The result of a run: these five keys and no others. */
export interface CodeInterpreterPayload {
  readonly stdout: string;
  readonly stderr: string;
  readonly files: readonly StoredFile[];
  readonly plots: readonly StoredFile[];
  readonly dataframes: readonly { readonly name: string; readonly repr: string }[];
}

/** How many files that were not kept are named. */
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
    stderr: [stderrOf(execution), ...missing(execution), ...collection.notes].filter((part) => part !== '').join('\n'),
    files: plotsInFiles ? [...files, ...plots].toSorted(byPath) : files,
    plots,
    dataframes: execution.dataframes.map(({ name, repr }) => ({ name, repr })),
  };
}

/** What the run did that nothing else here tells. */
function missing({ truncated }: Execution): string[] {
  const { dropped, files } = truncated ?? {};
  return [
    ...(dropped === undefined ? [] : [`Output is missing: ${dropped}.`]),
    ...(files === undefined ? [] : [`There are too many files: ${files} or more were not checked for changes.`]),
  ];
}

/** Copies the files of a run out of the artifact store, each once. */
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

  /** Why files are missing from the lists. */
  get notes(): readonly string[] {
    const more = this.#lost.length - MAX_NOTES;
    return [...this.#lost.slice(0, MAX_NOTES), ...(more > 0 ? [`${more} more files were not kept.`] : [])];
  }

  /** Figures in order, with the name that the run saved them under or else a number; then other images. */
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

  /** All other files, and the full text of output that was too long. */
  files(): Promise<StoredFile[]> {
    const { files, spills = {} } = this.#execution;
    const names = new Set(files.map(({ path }) => path));
    return this.#copyAll([
      ...files.filter((file) => !isImage(file)),
      ...Object.entries(spills).map(([stream, spill]) => ({ ...spill, path: outputName(stream, names) })),
    ]);
  }

  async #addNumbered(figure: ProducedFigure, names: Set<string>): Promise<StoredFile | null> {
    const bytes = await figureBytes(figure, this.#execution, this.#artifacts);
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

  /** Null for a file that cannot be copied: every path in the lists can be opened. */
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
