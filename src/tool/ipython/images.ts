import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { decodeForm, extensionOf, isImage, PLOTLY } from '../../artifact/mime.ts';
import type { Result } from '../../execution/execution.ts';
import type { ActionItem } from '../action/action-return.ts';

export const DEFAULT_WORK_DIR = './work_dir/tmp_dir';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** What is written as a file, in the order in which it is preferred. */
const FORMS = ['image/png', 'image/jpeg', 'image/svg+xml', PLOTLY] as const;

/** Writes a PNG that came as base64 to a file of its own and gives the path of that. */
export async function publishImageToLocal(imageBase64: string, workDir = DEFAULT_WORK_DIR): Promise<string> {
  const bytes = Buffer.from(imageBase64, 'base64');
  if (!bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) {
    throw new TypeError('The image is not a PNG in base64. Pass the text of `image/png` as a run gave it.');
  }
  return writeNew(bytes, '.png', workDir);
}

/** Writes the figure in a result to a file, if there is one: an image, or else the JSON that its library draws. */
export async function publishPicture({ data }: Result, workDir: string): Promise<ActionItem | null> {
  const mime = FORMS.find((form) => data[form] !== undefined);
  const content = mime === undefined ? undefined : data[mime];
  if (mime === undefined || content === undefined) return null;
  const file = await writeNew(decodeForm(mime, content), extensionOf(mime), workDir);
  return { type: isImage({ mime }) ? 'image' : 'file', content: file };
}

async function writeNew(bytes: Buffer, extension: string, workDir: string): Promise<string> {
  await mkdir(workDir, { recursive: true });
  const file = path.join(workDir, `${randomUUID()}${extension}`);
  await writeFile(file, bytes, { flag: 'wx' });
  return file;
}
