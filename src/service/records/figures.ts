import { decodeForm, extensionOf } from '../../artifact/mime.ts';
import type { Execution, ProducedFigure } from '../../execution/execution.ts';
import type { RecordFolder } from './folder.ts';
import { figureName, FOLDERS, isFigureName } from './names.ts';
import { openKept, type OpenArtifact } from './files.ts';

export interface SavedFigures {
  /** Relative to the folder: `figures/figure_01.png`. */
  readonly names: readonly string[];
  readonly paths: readonly string[];
  /** Why other figures are missing. */
  readonly errors: readonly string[];
}

const MAX_FIGURES = 100;
const MAX_BYTES = 32 << 20;

/** Image formats that a file can have, best first, and how each begins. */
const FORMS: readonly { readonly mime: string; readonly beginning: RegExp }[] = [
  { mime: 'image/png', beginning: /^\x89PNG\r\n/ },
  { mime: 'image/jpeg', beginning: /^\xff\xd8\xff/ },
  { mime: 'image/gif', beginning: /^GIF8/ },
  { mime: 'image/webp', beginning: /^RIFF.{4}WEBP/s },
  { mime: 'image/svg+xml', beginning: /^(?:\xef\xbb\xbf)?\s*</ },
];

/** Writes the figures of this run, and removes those of an earlier run. */
export async function saveFigures(
  folder: RecordFolder,
  execution: Execution | undefined,
  openArtifact: OpenArtifact | undefined,
): Promise<SavedFigures> {
  for (const name of folder.list(FOLDERS.figures).filter(isFigureName)) folder.remove(name, FOLDERS.figures);
  const figures = [...(execution?.figures ?? []), ...savedPictures(execution)];
  const paths: string[] = [];
  const names: string[] = [];
  const errors =
    figures.length > MAX_FIGURES ? [`Only the first ${MAX_FIGURES} of ${figures.length} figures are kept.`] : [];
  for (const [index, figure] of figures.slice(0, MAX_FIGURES).entries()) {
    const picture = await pictureOf(figure, execution, openArtifact);
    if ('problem' in picture) {
      errors.push(`Figure ${index + 1} is not kept: ${picture.problem}.`);
      continue;
    }
    const name = figureName(names.length + 1, picture.extension);
    paths.push(await folder.write(name, picture.bytes, FOLDERS.figures));
    names.push(`${FOLDERS.figures}/${name}`);
  }
  return { names, paths, errors };
}

/** Image files that the code wrote itself, in the folders where people look for them. */
const PICTURE = /^(?:[^/]+\/)?[^/.][^/]*\.(?:png|jpe?g|svg)$/i;

function savedPictures(execution: Execution | undefined): readonly ProducedFigure[] {
  const known = new Set(execution?.figures.flatMap(({ path, sha256 }) => [path, sha256]));
  return (execution?.files ?? []).filter(
    ({ path, sha256 }) => PICTURE.test(path) && !known.has(path) && (sha256 === undefined || !known.has(sha256)),
  );
}

type FigureFile = { readonly bytes: Buffer; readonly extension: string } | { readonly problem: string };

async function pictureOf(
  figure: ProducedFigure,
  execution: Execution | undefined,
  openArtifact: OpenArtifact | undefined,
): Promise<FigureFile> {
  const shown = figure.result === undefined ? undefined : execution?.results[figure.result];
  for (const { mime } of FORMS) {
    const content = shown?.data[mime];
    if (content !== undefined) return checked(mime, decodeForm(mime, content));
  }
  if (shown !== undefined) return { problem: `${figure.mime} is not an image; the notebook shows it` };
  if (figure.id === undefined || openArtifact === undefined) {
    return { problem: figure.notKept ?? 'no copy of the file was kept' };
  }
  if (figure.sizeBytes > MAX_BYTES) return { problem: `it is ${figure.sizeBytes} bytes` };
  const kept = await openKept(figure.id, openArtifact);
  return 'problem' in kept ? kept : checked(figure.mime, await readAll(kept.content));
}

/** A program may label anything an image, so the content is checked. */
function checked(mime: string, bytes: Buffer): FigureFile {
  const form = FORMS.find((one) => one.mime === mime);
  if (form === undefined) return { problem: `${mime} is not an image that a notebook can show` };
  if (bytes.length > MAX_BYTES) return { problem: `it is larger than ${MAX_BYTES} bytes` };
  if (!form.beginning.test(bytes.subarray(0, 512).toString('latin1')))
    return { problem: `it does not contain ${mime}` };
  return { bytes, extension: extensionOf(mime).slice(1) };
}

/** Stops reading once the limit is passed. */
async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of content) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_BYTES) break;
  }
  return Buffer.concat(chunks);
}
