import { buffer } from 'node:stream/consumers';
import type { Artifacts } from '../artifact/artifact.ts';
import { VivariumError } from '../errors.ts';
import type { Execution, ProducedFigure } from '../execution/execution.ts';

/** A figure of a run, with its bytes: an image, or the JSON of an interactive one. */
export interface Picture {
  readonly figure: ProducedFigure;
  readonly bytes: Buffer;
}

/** More than this is a file to download, not a picture to look at. */
const MAX_BYTES = 20_000_000;

/** The figures that a run made, in order. What was not kept is not among them. */
export async function picturesOf(execution: Execution, artifacts: Artifacts): Promise<Picture[]> {
  const pictures: Picture[] = [];
  for (const figure of execution.figures) {
    const bytes = await bytesOf(figure, execution, artifacts);
    if (bytes !== null) pictures.push({ figure, bytes });
  }
  return pictures;
}

/** Null for one that is too large or was not kept. */
export async function bytesOf(
  figure: ProducedFigure,
  execution: Execution,
  artifacts: Artifacts,
): Promise<Buffer | null> {
  if (figure.sizeBytes > MAX_BYTES) return null;
  return shownBytes(execution, figure) ?? (await keptBytes(figure, artifacts));
}

export function isImage({ mime }: { readonly mime: string }): boolean {
  return mime.startsWith('image/');
}

/** A figure that its library draws when it is looked at. */
export const PLOTLY = 'application/vnd.plotly.v1+json';

const EXTENSIONS: Readonly<Record<string, string>> = {
  [PLOTLY]: '.plotly.json',
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/svg+xml': '.svg',
  'image/webp': '.webp',
};

/** What the name of a figure's file ends in. */
export function extensionOf(mime: string): string {
  return EXTENSIONS[mime] ?? '.png';
}

/** The bytes of one form of a result, which is text or base64. */
export function decode(mime: string, data: string): Buffer {
  return Buffer.from(data, mime === 'image/svg+xml' || mime === PLOTLY ? 'utf8' : 'base64');
}

/** An image as the text that a page can show. */
export function dataUri({ figure, bytes }: Picture): string {
  return `data:${figure.mime};base64,${bytes.toString('base64')}`;
}

function shownBytes({ results }: Execution, { result, mime }: ProducedFigure): Buffer | null {
  const data = result === undefined ? undefined : results[result]?.data[mime];
  return data === undefined ? null : decode(mime, data);
}

async function keptBytes({ id }: ProducedFigure, artifacts: Artifacts): Promise<Buffer | null> {
  if (id === undefined) return null;
  try {
    return await buffer(await artifacts.open(id));
  } catch (error) {
    if (error instanceof VivariumError) return null; // swept away meanwhile, since the store was full
    throw error;
  }
}
