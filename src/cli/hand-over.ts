import { extensionOf } from '../artifact/mime.ts';
import { VivariumError } from '../errors.ts';
import type { Execution } from '../execution/execution.ts';
import type { Host } from '../host/host.ts';
import type { RunFolder } from '../tool/code-interpreter/artifact-folder.ts';
import { loadFigures, type LoadedFigure } from '../tool/figures.ts';

export interface HandOverParts {
  readonly artifacts: Host['artifacts'];
  /** Where it is put, for the user to keep. */
  readonly folder: RunFolder;
  /** Hears of each thing where it is, or why it is not there. */
  readonly tell: (words: string) => Promise<void>;
}

type Source = Parameters<RunFolder['add']>[1];
type Content = { readonly source: Source | Promise<Source>; readonly sizeBytes: number };

/** Puts what runs make where their user finds it. */
export class HandOver {
  readonly #parts: HandOverParts;
  #pictures = 0;

  constructor(parts: HandOverParts) {
    this.#parts = parts;
  }

  /** Pictures that were shown and not saved get a number; `onPicture` sees all of them first. */
  async pictures(execution: Execution, onPicture?: (picture: LoadedFigure) => Promise<void>): Promise<void> {
    const written = new Set(execution.files.map(({ path }) => path));
    for (const picture of await loadFigures(execution, this.#parts.artifacts)) {
      await onPicture?.(picture);
      const { figure, bytes } = picture;
      if (figure.path !== undefined) continue; // a file, handed over with the others
      const name = this.#nextName(extensionOf(figure.mime), written);
      await this.#keep('picture', name, { source: bytes, sizeBytes: bytes.length });
    }
  }

  async files({ files }: Execution): Promise<void> {
    for (const { id, path: name, sizeBytes, notKept } of files) {
      if (id === undefined) await this.#parts.tell(`${name} is not kept: ${notKept ?? 'no reason given'}`);
      else await this.#keepCopy('file', name, { id, sizeBytes });
    }
  }

  /** What was printed, where it is too long to be told. */
  async outputs({ spills = {} }: Execution): Promise<void> {
    for (const [stream, spill] of Object.entries(spills)) {
      await this.#keepCopy('output', `.output/${stream}.txt`, spill);
    }
  }

  #nextName(extension: string, taken: ReadonlySet<string>): string {
    this.#pictures += 1;
    const name = `figure-${this.#pictures}${extension}`;
    return taken.has(name) ? this.#nextName(extension, taken) : name;
  }

  async #keepCopy(what: string, name: string, { id, sizeBytes }: { id: string; sizeBytes: number }): Promise<void> {
    await this.#keep(what, name, { source: this.#parts.artifacts.open(id), sizeBytes });
  }

  /** Names are the program's choice: one that leads elsewhere is refused, which must not spoil the rest. */
  async #keep(what: string, name: string, { source, sizeBytes }: Content): Promise<void> {
    const { folder, tell } = this.#parts;
    try {
      const { path } = await folder.add(name, await source, sizeBytes);
      await tell(`${what}: ${path}`);
    } catch (error) {
      if (!(error instanceof VivariumError)) throw error;
      await tell(`${what} ${name} is not kept: ${error.message}`);
    }
  }
}
