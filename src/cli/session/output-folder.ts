import { extensionOf } from '../../artifact/mime.ts';
import { VivariumError } from '../../errors.ts';
import type { Execution, ProducedFile } from '../../execution/execution.ts';
import type { Host } from '../../host/host.ts';
import { Once } from '../../once.ts';
import { freshFolder, locateFolder, outputName, RunFolder } from '../../tool/code-interpreter/artifact-folder.ts';
import { loadFigures, type LoadedFigure } from '../../tool/figures.ts';

export interface OutputFolderOptions {
  readonly directory: string;
  /** Uses the directory as it is, and replaces files. Otherwise one with anything in it gets a new directory in it. */
  readonly overwrites?: boolean;
  readonly artifacts: Host['artifacts'];
  /** Called for each file with its path, or with the reason why there is none. */
  readonly report: (words: string) => Promise<void>;
}

type CopySource = Parameters<RunFolder['add']>[1];

/** A folder of the user's that gets copies of what runs produce. */
export class OutputFolder {
  readonly #folder: Once<RunFolder>;
  readonly #artifacts: Host['artifacts'];
  readonly #report: OutputFolderOptions['report'];
  #pictures = 0;

  constructor({ directory, overwrites = false, artifacts, report }: OutputFolderOptions) {
    const target = locateFolder(directory);
    this.#folder = new Once(async () =>
      overwrites ? new RunFolder(target, { isReplacing: true }) : await freshFolder(target),
    );
    this.#artifacts = artifacts;
    this.#report = report;
  }

  async addAll(execution: Execution): Promise<void> {
    await this.addPictures(execution);
    await this.addFiles(execution);
    await this.#addOutputs(execution);
  }

  /** Numbers the pictures that the program did not save itself. `onPicture` gets all of them first. */
  async addPictures(execution: Execution, onPicture?: (picture: LoadedFigure) => Promise<void>): Promise<void> {
    const written = new Set(execution.files.map(({ path: name }) => name));
    for (const picture of await loadFigures(execution, this.#artifacts)) {
      await onPicture?.(picture);
      const { figure, bytes } = picture;
      if (figure.path !== undefined) continue; // `addFiles` copies it
      const name = this.#nextName(extensionOf(figure.mime), written);
      await this.#add('picture', name, { open: () => bytes, sizeBytes: bytes.length });
    }
  }

  async addFiles({ files }: Execution): Promise<void> {
    for (const file of files) await this.#addArtifact('file', file.path, file);
  }

  /** The full text of outputs that are shortened in the result. */
  async #addOutputs({ files, spills = {} }: Execution): Promise<void> {
    const taken = new Set(files.map(({ path: name }) => name));
    for (const [stream, spill] of Object.entries(spills)) {
      await this.#addArtifact('output', outputName(stream, taken), spill);
    }
  }

  #nextName(extension: string, taken: ReadonlySet<string>): string {
    this.#pictures += 1;
    const name = `figure-${this.#pictures}${extension}`;
    return taken.has(name) ? this.#nextName(extension, taken) : name;
  }

  async #addArtifact(
    kind: string,
    name: string,
    { id, sizeBytes, notKept }: Pick<ProducedFile, 'id' | 'sizeBytes' | 'notKept'>,
  ): Promise<void> {
    if (id === undefined) await this.#report(`${name} is not kept: ${notKept ?? 'no reason given'}`);
    else await this.#add(kind, name, { open: () => this.#artifacts.open(id), sizeBytes });
  }

  /** The program chooses the names. One that leads out of the folder is refused, and the other files are still copied. */
  async #add(
    kind: string,
    name: string,
    { open, sizeBytes }: { readonly open: () => CopySource | Promise<CopySource>; readonly sizeBytes: number },
  ): Promise<void> {
    try {
      const folder = await this.#folder.get();
      const { path: copy } = await folder.add(name, await open(), sizeBytes);
      await this.#report(`${kind}: ${copy}`);
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error;
      await this.#report(`${kind} ${name} is not kept: ${error.message}`);
    }
  }
}
