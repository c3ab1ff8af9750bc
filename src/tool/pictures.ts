import { buffer } from 'node:stream/consumers';
import type { ArtifactStore } from '../artifact/store.ts';
import type { Execution, ProducedFigure } from '../execution/execution.ts';

/** A picture of a run, with its bytes. */
export interface Picture {
  readonly figure: ProducedFigure;
  readonly bytes: Buffer;
}

/** More than this is a file to download, not a picture to look at. */
const MAX_BYTES = 20_000_000;

/** The pictures that a run made, in order. What is no image (a plotly figure is JSON) or was not kept is not among them. */
export async function picturesOf(execution: Execution, artifacts: ArtifactStore): Promise<Picture[]> {
  const pictures: Picture[] = [];
  for (const figure of execution.figures.filter(isImage)) {
    const bytes = await bytesOf(figure, execution, artifacts);
    if (bytes !== null) pictures.push({ figure, bytes });
  }
  return pictures;
}

/** Null for one that is too large or was not kept. */
export async function bytesOf(
  figure: ProducedFigure,
  execution: Execution,
  artifacts: ArtifactStore,
): Promise<Buffer | null> {
  if (figure.sizeBytes > MAX_BYTES) return null;
  return shownBytes(execution, figure) ?? (await keptBytes(figure, artifacts));
}

export function isImage({ mime }: { readonly mime: string }): boolean {
  return mime.startsWith('image/');
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/svg+xml': '.svg',
  'image/webp': '.webp',
};

/** What the name of a picture's file ends in. */
export function extensionOf(mime: string): string {
  return EXTENSIONS[mime] ?? '.png';
}

/** A picture as the text that a page can show. */
export function dataUri({ figure, bytes }: Picture): string {
  return `data:${figure.mime};base64,${bytes.toString('base64')}`;
}

function shownBytes({ results }: Execution, { result, mime }: ProducedFigure): Buffer | null {
  const data = result === undefined ? undefined : results[result]?.data[mime];
  if (data === undefined) return null;
  return mime === 'image/svg+xml' ? Buffer.from(data) : Buffer.from(data, 'base64');
}

async function keptBytes({ id }: ProducedFigure, artifacts: ArtifactStore): Promise<Buffer | null> {
  return id === undefined ? null : await buffer(await artifacts.open(id));
}
