import { isPlainPath } from '../../artifact/place/names.ts';
import type { Execution, ProducedFile } from '../../execution/execution.ts';
import type { RecordFolder } from './folder.ts';
import { PRODUCTS } from './names.ts';
import { VivariumError } from '../../errors.ts';

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

/** Gives the content of a file that a run left, by its id. */
export type OpenArtifact = (id: string) => Promise<AsyncIterable<Uint8Array>>;

export type Content = { readonly content: AsyncIterable<Uint8Array> } | { readonly problem: string };

/** What waited too long for its approval may be gone. */
export async function openKept(id: string, openArtifact: OpenArtifact): Promise<Content> {
  try {
    return { content: await openArtifact(id) };
  } catch (error) {
    if (!(error instanceof VivariumError) || error.code !== 'ARTIFACT_NOT_FOUND') throw error;
    return { problem: 'its copy is gone' };
  }
}
