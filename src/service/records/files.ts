import { isHiddenPath, isPlainPath } from '../../workspace/names.ts';
import type { Execution, ProducedFile } from '../../execution/execution.ts';
import type { RecordFolder } from './folder.ts';
import { FOLDERS } from './names.ts';
import { VivariumError } from '../../errors.ts';

export interface SavedFiles {
  /** Relative to the folder: `files/tables/out.csv`. */
  readonly names: readonly string[];
  readonly paths: readonly string[];
  /** Why other files are missing. */
  readonly errors: readonly string[];
}

/** For all files of one run together. */
const MAX_BYTES = 512 * 2 ** 20;
/** Characters of a path in a sentence. */
const MAX_SHOWN = 500;

/** Copies the files that this run wrote, and removes those of an earlier run. */
export async function saveFiles(
  folder: RecordFolder,
  execution: Execution | undefined,
  openArtifact: OpenArtifact | undefined,
): Promise<SavedFiles> {
  folder.removeAll(FOLDERS.files);
  const names: string[] = [];
  const paths: string[] = [];
  const errors: string[] = [];
  let room = MAX_BYTES;
  for (const file of execution?.files ?? []) {
    const found = folder.hasRoomFor(FOLDERS.files, file.path)
      ? await contentOf(file, room, openArtifact)
      : { problem: 'its path is too long' };
    if ('problem' in found) {
      errors.push(`${file.path.slice(0, MAX_SHOWN)} is not kept: ${found.problem}.`);
      continue;
    }
    room -= file.sizeBytes;
    paths.push(await folder.writeBelow(FOLDERS.files, file.path, found.content));
    names.push(`${FOLDERS.files}/${file.path}`);
  }
  return { names, paths, errors };
}

async function contentOf(
  { path, id, sizeBytes, notKept }: ProducedFile,
  room: number,
  openArtifact: OpenArtifact | undefined,
): Promise<ArtifactContent> {
  if (id === undefined || openArtifact === undefined) return { problem: notKept ?? 'no copy of it was kept' };
  if (!isPlainPath(path)) return { problem: 'its name is not plain' };
  if (isHiddenPath(path)) return { problem: 'it is hidden' };
  if (sizeBytes > room) return { problem: `it is ${sizeBytes} bytes, and all files together may be ${MAX_BYTES}` };
  return openKept(id, openArtifact);
}

/** Opens an artifact of a run by its id. */
export type OpenArtifact = (id: string) => Promise<AsyncIterable<Uint8Array>>;

export type ArtifactContent = { readonly content: AsyncIterable<Uint8Array> } | { readonly problem: string };

/** The store may have removed an artifact while its run waited for approval, or may fail. The other files are still kept. */
export async function openKept(id: string, openArtifact: OpenArtifact): Promise<ArtifactContent> {
  try {
    return { content: await openArtifact(id) };
  } catch (error) {
    if (!(error instanceof VivariumError)) throw error;
    return { problem: error.code === 'ARTIFACT_NOT_FOUND' ? 'its copy was removed' : withoutStop(error.message) };
  }
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '');
}
