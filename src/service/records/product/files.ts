import { isPlainPath } from '../../../workspace/names.ts';
import type { Execution, ProducedFile } from '../../../execution/execution.ts';
import type { RecordFolder } from '../folder.ts';
import { PRODUCTS } from '../names.ts';
import { openKept, type Content, type OpenArtifact } from './kept.ts';

export interface SavedFiles {
  /** Seen from the folder: `files/tables/out.csv`. */
  readonly names: readonly string[];
  readonly paths: readonly string[];
  /** Why others are not there. */
  readonly errors: readonly string[];
}

/** Of all files of one run together. */
const MAX_BYTES = 512 * 2 ** 20;

/** Copies what this run wrote, and nothing else: files of an earlier one go. */
export async function saveFiles(
  folder: RecordFolder,
  execution: Execution | undefined,
  openArtifact: OpenArtifact | undefined,
): Promise<SavedFiles> {
  folder.removeAll(PRODUCTS);
  const names: string[] = [];
  const paths: string[] = [];
  const errors: string[] = [];
  let room = MAX_BYTES;
  for (const file of execution?.files ?? []) {
    const found = await contentOf(file, room, openArtifact);
    if ('problem' in found) {
      errors.push(`${file.path} is not kept: ${found.problem}.`);
      continue;
    }
    room -= file.sizeBytes;
    paths.push(await folder.writeBelow(PRODUCTS, file.path, found.content));
    names.push(`${PRODUCTS}/${file.path}`);
  }
  return { names, paths, errors };
}

async function contentOf(
  { path, id, sizeBytes, notKept }: ProducedFile,
  room: number,
  openArtifact: OpenArtifact | undefined,
): Promise<Content> {
  if (id === undefined || openArtifact === undefined) return { problem: notKept ?? 'there is no copy of it' };
  if (!isPlainPath(path)) return { problem: 'its name is not plain' };
  if (sizeBytes > room) return { problem: `it has ${sizeBytes} bytes, and all files together may have ${MAX_BYTES}` };
  return openKept(id, openArtifact);
}
