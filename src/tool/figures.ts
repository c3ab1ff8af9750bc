/** The figures of a run, with their bytes. */
import { buffer } from 'node:stream/consumers';
import { decodeForm } from '../artifact/mime.ts';
import type { Artifacts } from '../artifact/artifact.ts';
import { VivariumError } from '../errors.ts';
import type { Execution, ProducedFigure } from '../execution/execution.ts';

/** An image, or the JSON of an interactive figure. */
export interface LoadedFigure {
  readonly figure: ProducedFigure;
  readonly bytes: Buffer;
}

/** Anything larger is a file to download, not a picture to look at. */
const MAX_BYTES = 20_000_000;

/** The figures of a run in order, without those that are too large or no longer kept. */
export async function loadFigures(execution: Execution, artifacts: Artifacts): Promise<LoadedFigure[]> {
  const loaded: LoadedFigure[] = [];
  for (const figure of execution.figures) {
    const bytes = await figureBytes(figure, execution, artifacts);
    if (bytes !== null) loaded.push({ figure, bytes });
  }
  return loaded;
}

/** Null if the figure is too large or no longer kept. */
export async function figureBytes(
  figure: ProducedFigure,
  execution: Execution,
  artifacts: Artifacts,
): Promise<Buffer | null> {
  if (figure.sizeBytes > MAX_BYTES) return null;
  return shownBytes(execution, figure) ?? (await keptBytes(figure, artifacts));
}

/** An image in the form that a web page can show. */
export function dataUri({ figure, bytes }: LoadedFigure): string {
  return `data:${figure.mime};base64,${bytes.toString('base64')}`;
}

function shownBytes({ results }: Execution, { result, mime }: ProducedFigure): Buffer | null {
  const data = result === undefined ? undefined : results[result]?.data[mime];
  return data === undefined ? null : decodeForm(mime, data);
}

async function keptBytes({ id }: ProducedFigure, artifacts: Artifacts): Promise<Buffer | null> {
  if (id === undefined) return null;
  try {
    return await buffer(await artifacts.open(id));
  } catch (error) {
    if (error instanceof VivariumError) return null; // removed in the meantime, because the store was full
    throw error;
  }
}
