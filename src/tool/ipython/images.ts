import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Result } from '../../execution/execution.ts';
import { extensionOf } from '../pictures.ts';

export const DEFAULT_WORK_DIR = './work_dir/tmp_dir';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Pictures in the order in which they are preferred. */
const FORMS = ['image/png', 'image/jpeg', 'image/svg+xml'] as const;

/** Writes a PNG that came as base64 to a file of its own and gives the path of that. */
export async function publishImageToLocal(imageBase64: string, workDir = DEFAULT_WORK_DIR): Promise<string> {
  const bytes = Buffer.from(imageBase64, 'base64');
  if (!bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) {
    throw new TypeError('The image is not a PNG in base64. Pass the text of `image/png` as a run gave it.');
  }
  return writeImage(bytes, '.png', workDir);
}

/** Writes the picture in a result to a file, if there is one. */
export async function publishPicture({ data }: Result, workDir: string): Promise<string | null> {
  const mime = FORMS.find((form) => data[form] !== undefined);
  const content = mime === undefined ? undefined : data[mime];
  if (mime === undefined || content === undefined) return null;
  return writeImage(Buffer.from(content, mime === 'image/svg+xml' ? 'utf8' : 'base64'), extensionOf(mime), workDir);
}

async function writeImage(bytes: Buffer, extension: string, workDir: string): Promise<string> {
  await mkdir(workDir, { recursive: true });
  const file = path.join(workDir, `${randomUUID()}${extension}`);
  await writeFile(file, bytes, { flag: 'wx' });
  return file;
}
