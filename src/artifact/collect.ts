import { VivariumError } from '../errors.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Artifact } from './artifact.ts';
import type { ChangedFile } from './changes.ts';
import { mimeOf } from './mime.ts';
import type { ArtifactWriter } from './store.ts';

/** A file that a run wrote, and its copy. */
export interface CollectedFile extends Pick<ChangedFile, 'path' | 'sizeBytes' | 'change'> {
  readonly mime: string;
  /** The copy, unless there is a reason why none was made. */
  readonly artifact?: Artifact;
  readonly notKept?: string;
}

export interface CollectCaps {
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxFiles: number;
}

export interface CollectRequest {
  readonly workspace: Pick<Workspace, 'open'>;
  readonly changes: readonly ChangedFile[];
  readonly sessionId: string;
  readonly executionId: string;
  readonly caps: CollectCaps;
  readonly signal?: AbortSignal | undefined;
}

/** Keeps copies of what a run wrote. A file that cannot or may not be copied is listed with the reason. */
export async function collect(store: ArtifactWriter, request: CollectRequest): Promise<CollectedFile[]> {
  const { changes, caps } = request;
  const collected: CollectedFile[] = [];
  let bytesLeft = caps.maxTotalBytes;
  for (const [index, { path, sizeBytes, change }] of changes.entries()) {
    const facts = { path, sizeBytes, mime: mimeOf(path), change };
    const reason = index < caps.maxFiles ? tooLarge(sizeBytes, caps, bytesLeft) : `more than ${caps.maxFiles} files`;
    const copy = reason === null ? await keep(store, request, { path, bytesLeft }) : { notKept: reason };
    if (copy.artifact) bytesLeft -= copy.artifact.sizeBytes;
    collected.push({ ...facts, ...(copy.artifact && { sizeBytes: copy.artifact.sizeBytes }), ...copy });
  }
  return collected;
}

async function keep(
  store: ArtifactWriter,
  { workspace, sessionId, executionId, caps, signal }: CollectRequest,
  { path, bytesLeft }: { readonly path: string; readonly bytesLeft: number },
): Promise<Pick<CollectedFile, 'artifact' | 'notKept'>> {
  try {
    await using file = await workspace.open(path);
    const reason = tooLarge(file.sizeBytes, caps, bytesLeft); // it may have grown since it was listed
    if (reason !== null) return { notKept: reason };
    return { artifact: await store.keep(file, { name: path, sessionId, executionId, signal }) };
  } catch (error) {
    if (error instanceof VivariumError) return { notKept: error.message };
    throw error;
  }
}

function tooLarge(sizeBytes: number, { maxFileBytes, maxTotalBytes }: CollectCaps, bytesLeft: number): string | null {
  if (sizeBytes > maxFileBytes) return `larger than ${maxFileBytes} bytes`;
  return sizeBytes > bytesLeft ? `more than ${maxTotalBytes} bytes in total` : null;
}
