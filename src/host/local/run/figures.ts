import { messageOf } from '../../../artifact/failure.ts';
import { decodeForm, extensionOf, PLOTLY, VEGA_LITE } from '../../../artifact/mime.ts';
import type { ArtifactWriter } from '../../../artifact/store.ts';
import type { Event, SavedFigure } from '../../../execution/event.ts';
import type { ProducedFigure, ProducedFile, Result } from '../../../execution/execution.ts';

/** The types that a picture may have, best first. */
const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/svg+xml', 'image/gif', 'image/webp', PLOTLY, ...VEGA_LITE];
const MAX_KEPT = 100;

interface ShownPicture {
  readonly result: Result;
  readonly index: number;
  readonly number: number | undefined;
}

/** The pictures of one run: those that it showed, and those that it only saved. */
export class RunFigures {
  #pictures: ShownPicture[] = [];
  #results = 0;

  onEvent(event: Event): void {
    if (event.type === 'clear') {
      this.#pictures = [];
      this.#results = 0;
    } else if (event.type === 'result') {
      const { result, picture: number } = event;
      if (formOf(result) !== undefined) this.#pictures.push({ result, index: this.#results, number });
      this.#results += 1;
    }
  }

  /** Whether the run has shown a picture. */
  get isAny(): boolean {
    return this.#pictures.length > 0;
  }

  /** Keeps a copy of each picture, once. Pictures that were shown come in their order, then those that were only saved. */
  async *collect(
    saved: readonly SavedFigure[],
    files: readonly ProducedFile[],
    keep: KeepFigure,
  ): AsyncGenerator<ProducedFigure, void, undefined> {
    for (const [position, picture] of this.#pictures.entries()) {
      const file = saved.find(({ picture: shownAs }) => shownAs !== undefined && shownAs === picture.number);
      const path = files.find(({ path: written }) => written === file?.path)?.path;
      const copy = position < MAX_KEPT ? await keepShown(picture.result, position + 1, keep) : tooMany(picture.result);
      yield { result: picture.index, ...(path !== undefined && { path }), ...about(picture.result), ...copy };
    }
    for (const figure of saved.filter(({ picture }) => !this.#shows(picture))) {
      const file = files.findLast(({ path }) => path === figure.path);
      if (file !== undefined) yield { ...about(figure), ...factsOf(file) };
    }
  }

  #shows(number: number | undefined): boolean {
    return number !== undefined && this.#pictures.some((picture) => picture.number === number);
  }
}

export interface KeepFigure {
  readonly store: ArtifactWriter;
  readonly sessionId: string;
  readonly executionId: string;
}

type FigureCopy = Pick<ProducedFigure, 'mime' | 'sizeBytes' | 'id' | 'sha256' | 'notKept'>;

/** If the store cannot keep it, the run has its answer all the same. */
async function keepShown(result: Result, number: number, keep: KeepFigure): Promise<FigureCopy> {
  const { store, sessionId, executionId } = keep;
  const [mime, content] = formOf(result) ?? ['', ''];
  const bytes = decodeForm(mime, content);
  try {
    await using draft = await store.draft();
    await draft.write(bytes);
    const name = `figure-${number}${extensionOf(mime)}`;
    const { id, sizeBytes, sha256 } = await draft.keep({ name, mime, sessionId, executionId });
    return { mime, sizeBytes, id, sha256 };
  } catch (error) {
    return { mime, sizeBytes: bytes.length, notKept: messageOf(error) };
  }
}

function tooMany(result: Result): FigureCopy {
  const [mime, content] = formOf(result) ?? ['', ''];
  return { mime, sizeBytes: decodeForm(mime, content).length, notKept: `more than ${MAX_KEPT} pictures` };
}

function factsOf({ path, mime, sizeBytes, id, sha256, notKept }: ProducedFile): FigureCopy & { readonly path: string } {
  return {
    path,
    mime,
    sizeBytes,
    ...(id !== undefined && { id }),
    ...(sha256 !== undefined && { sha256 }),
    ...(notKept !== undefined && { notKept }),
  };
}

function about({ title, chart }: Pick<Result, 'title' | 'chart'>): Pick<ProducedFigure, 'title' | 'chart'> {
  return { ...(title !== undefined && { title }), ...(chart !== undefined && { chart }) };
}

/** The best form of a picture: its type and content. */
function formOf({ data }: Result): readonly [mime: string, content: string] | undefined {
  for (const mime of PICTURE_TYPES) {
    const content = data[mime];
    if (content !== undefined) return [mime, content];
  }
  return undefined;
}
