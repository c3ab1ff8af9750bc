/** The output of a run as a notebook shows it: text, and figures as files. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { decodeForm, extensionOf, isImage, PLOTLY, VEGA_LITE } from '../../artifact/mime.ts';
import { describeOutcome, describeState } from '../../execution/description.ts';
import type { Execution, Result, StateReceipt } from '../../execution/execution.ts';
import { hasEndedByItself } from '../../execution/outcome.ts';
import type { TranscriptItem } from '../../execution/transcript.ts';
import { cleanText } from '../../text/visible.ts';
import { joinLines } from '../../text/excerpt.ts';
import { explain } from '../../workspace/errno.ts';
import { HeldDirectory } from '../../workspace/held-directory.ts';
import { withoutLinks } from '../../workspace/place.ts';
import type { ActionItem } from '../action/contract.ts';

export interface Rendering {
  /** Output of both streams and values, in order of arrival. */
  readonly text: string;
  /** The paths of the figures. */
  readonly images: readonly ActionItem[];
}

/** `workDir` is a path without links; see `withoutLinks`. */
export async function render(items: readonly TranscriptItem[], workDir: string): Promise<Rendering> {
  const parts: string[] = [];
  const images: ActionItem[] = [];
  for (const item of items) {
    if (item.type === 'text') {
      parts.push(item.text);
      continue;
    }
    const image = await saveFigure(item.result, workDir);
    if (image !== null) images.push(image);
    if (image === null || item.result.kind === 'result') parts.push(item.result.data['text/plain'] ?? '');
  }
  return { text: joinLines(parts), images };
}

/** The error message of a failed run: all its output, then the traceback or what is said at a timeout. Null if it succeeded. */
export function describeFailure({ outcome, error, state }: Execution, text: string, timeout: string): string | null {
  if (outcome.status === 'succeeded') return null;
  const restart = describeRestart(state);
  if (outcome.status === 'timed-out') {
    return joinLines([text, timeout, restart]);
  }
  const end = hasEndedByItself(outcome) ? '' : sentence(describeOutcome(outcome, 'the run'));
  return joinLines([text, cleanText(error?.traceback ?? ''), end, restart]);
}

/** Tells what happened to the state of a session before a run that itself succeeded; empty if nothing did. */
export function describeLoss({ outcome, state }: Execution): string {
  return outcome.status === 'succeeded' ? describeRestart(state) : '';
}

/** The text of a run that was only stopped is fixed, and leaves the interpreter as it is. */
function describeRestart(state: StateReceipt): string {
  return state.status === 'preserved' && state.earlier === undefined ? '' : sentence(describeState(state));
}

function sentence(clause: string): string {
  return clause === '' ? '' : `${clause[0]?.toUpperCase()}${clause.slice(1)}.`;
}

export const DEFAULT_WORK_DIR = './work_dir/tmp_dir';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** The forms that are saved as files, best first. */
const FORMS = ['image/png', 'image/jpeg', 'image/svg+xml', PLOTLY, ...VEGA_LITE];

/** Writes a base64 PNG to a new file and returns its path. */
export async function publishImageToLocal(imageBase64: string, workDir = DEFAULT_WORK_DIR): Promise<string> {
  const bytes = Buffer.from(imageBase64, 'base64');
  if (!bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) {
    throw new TypeError('The image is not a PNG in base64. Pass the `image/png` text from the result of a run.');
  }
  return path.join(workDir, path.basename(await writeNew(bytes, '.png', withoutLinks(workDir))));
}

/** Writes the figure of a result to a new file: an image, or else the JSON of an interactive figure. Null without one. */
async function saveFigure({ data }: Result, workDir: string): Promise<ActionItem | null> {
  const mime = FORMS.find((form) => data[form] !== undefined);
  const content = mime === undefined ? undefined : data[mime];
  if (mime === undefined || content === undefined) return null;
  const file = await writeNew(decodeForm(mime, content), extensionOf(mime), workDir);
  return { type: isImage({ mime }) ? 'image' : 'file', content: file };
}

/** The directory may lie where the code can write: no link that it put on the way is followed. */
async function writeNew(bytes: Buffer, extension: string, workDir: string): Promise<string> {
  const name = `${randomUUID()}${extension}`;
  try {
    using directory = HeldDirectory.reach(workDir, 0o777);
    await using file = await directory.createFile(name, 0o666);
    await file.writeFile(bytes);
    return path.join(workDir, name);
  } catch (error) {
    return explain(error, path.join(workDir, name));
  }
}
