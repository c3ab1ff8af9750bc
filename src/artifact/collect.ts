import type { ProducedFile } from '../execution/execution.ts';
import type { Workspace, WorkspaceFile } from '../workspace/workspace.ts';
import type { ChangedFile } from './changes.ts';
import { messageOf } from './failure.ts';
import { mimeOf } from './mime.ts';
import type { ArtifactWriter, LateCopy } from './store.ts';

/** What a run wrote, and the copies of it that are still being made. */
export interface Collected {
  readonly files: readonly ProducedFile[];
  readonly late: readonly LateCopy[];
}

export interface CollectCaps {
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxFiles: number;
  /** How much is copied before this returns. What does not fit is copied later. */
  readonly maxBytesAtOnce: number;
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
export async function collect(store: ArtifactWriter, request: CollectRequest): Promise<Collected> {
  const collection = new Collection(store, request);
  for (const change of request.changes) await collection.add(change);
  return collection;
}

type Copy = Pick<ProducedFile, 'id' | 'sha256' | 'notKept'> & { readonly sizeBytes?: number };

class Collection implements Collected {
  readonly files: ProducedFile[] = [];
  readonly late: LateCopy[] = [];
  readonly #store: ArtifactWriter;
  readonly #request: CollectRequest;
  #bytesLeft: number;
  #bytesLeftAtOnce: number;

  constructor(store: ArtifactWriter, request: CollectRequest) {
    this.#store = store;
    this.#request = request;
    this.#bytesLeft = request.caps.maxTotalBytes;
    this.#bytesLeftAtOnce = request.caps.maxBytesAtOnce;
  }

  async add({ path, sizeBytes, change }: ChangedFile): Promise<void> {
    const { maxFiles } = this.#request.caps;
    const reason = this.files.length < maxFiles ? this.#tooLarge(sizeBytes) : `more than ${maxFiles} files`;
    const copy = reason === null ? await this.#keep(path) : { notKept: reason };
    if (copy.id !== undefined) this.#bytesLeft -= copy.sizeBytes ?? 0;
    this.files.push({ path, sizeBytes, mime: mimeOf(path), change, ...copy });
  }

  /** Whatever fails here must not cost the answer of the run. */
  async #keep(path: string): Promise<Copy> {
    try {
      await using stack = new AsyncDisposableStack();
      const file = stack.use(await this.#request.workspace.open(path));
      const reason = this.#tooLarge(file.sizeBytes); // it may have grown since it was listed
      if (reason !== null) return { notKept: reason };
      if (file.sizeBytes <= this.#bytesLeftAtOnce || !file.survivesRemoval) return await this.#copy(file, path);
      stack.move(); // the store closes it
      return this.#copyLater(file, path);
    } catch (error) {
      this.#request.signal?.throwIfAborted();
      return { notKept: messageOf(error) };
    }
  }

  async #copy(file: WorkspaceFile, name: string): Promise<Copy> {
    const { sessionId, executionId, signal } = this.#request;
    const { id, sizeBytes, sha256 } = await this.#store.keep(file, { name, sessionId, executionId, signal });
    this.#bytesLeftAtOnce -= sizeBytes;
    return { id, sizeBytes, sha256 };
  }

  #copyLater(file: WorkspaceFile, name: string): Copy {
    const { sessionId, executionId } = this.#request;
    const copy = this.#store.keepLater(file, { name, sessionId, executionId });
    this.late.push(copy);
    return { id: copy.id, sizeBytes: file.sizeBytes };
  }

  #tooLarge(sizeBytes: number): string | null {
    const { maxFileBytes, maxTotalBytes } = this.#request.caps;
    if (sizeBytes > maxFileBytes) return `larger than ${maxFileBytes} bytes`;
    return sizeBytes > this.#bytesLeft ? `more than ${maxTotalBytes} bytes in total` : null;
  }
}
