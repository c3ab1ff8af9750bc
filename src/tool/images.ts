/** The figures of a run as pictures for models that can see. */
import type { LoadedFigure } from './figures.ts';
import type { Observation, ToolImage } from './tool.ts';

/** What the APIs of all large providers take. */
const FORMS = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;

/** 5 MB as base64, which is the most that Anthropic takes. */
const MAX_BYTES = 3_750_000;

/** Each costs a model about as much as a page of text. */
const MAX_IMAGES = 8;

/** For an observation: the first pictures, without those that no model takes. */
export function imagesOf(figures: readonly LoadedFigure[]): Pick<Observation, 'images'> {
  const images = figures.flatMap((figure) => imageOf(figure) ?? []).slice(0, MAX_IMAGES);
  return images.length === 0 ? {} : { images };
}

export function dataUriOf({ mimeType, data }: ToolImage): string {
  return `data:${mimeType};base64,${data}`;
}

function imageOf({ figure, bytes }: LoadedFigure): ToolImage | undefined {
  const mimeType = FORMS.find((form) => form === figure.mime);
  if (mimeType === undefined || bytes.length > MAX_BYTES) return undefined;
  return { mimeType, data: bytes.toString('base64') };
}
