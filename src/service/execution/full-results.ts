import { randomUUID } from 'node:crypto';
import type { ArtifactStore } from '../../artifact/store.ts';
import { parseJson, ProtocolViolation } from '../../engine/hostile-json.ts';
import type { Execution, Json } from '../../execution/execution.ts';
import type { Session } from '../../host/session.ts';
import { truncatedPaths } from '../results/encoded.ts';

export interface ResultLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** Stores the path of the workspace before the program can change directory. In `sys` it is not a variable of the program. */
export const NOTE_WORKSPACE = '__import__("sys")._vivarium_workspace = __import__("os").getcwd()';

/**
 * The full `results` of a session's last run. A run returns only what fits into a message; larger results are written to a
 * file and read from there. Results beyond the limits stay truncated, as do those that the program prevents from being written.
 */
export async function fullResults(
  session: Session,
  store: ArtifactStore,
  value: Execution['value'],
  { maxBytes, timeoutMs }: ResultLimits,
): Promise<Execution['value']> {
  if (value === undefined || truncatedPaths(value).length === 0) return value;
  const name = `results-${randomUUID()}.json`; // Jupyter servers do not serve hidden files
  const { files } = await session.runCode(writing(name, maxBytes), { timeoutMs, echo: 'none' });
  const ids = files.flatMap(({ path, id }) => (id === undefined ? [] : [{ path, id }]));
  try {
    const written = ids.find(({ path }) => path === name);
    return written === undefined ? value : ((await read(store, written.id, maxBytes)) ?? value);
  } finally {
    for (const { id } of ids) store.remove(id); // only the service used them
  }
}

/** Local sessions have the encoder as a module, kernels have it in their companion. */
function writing(name: string, maxBytes: number): string {
  const bounds = `max_items=${maxBytes}, max_bytes=${maxBytes}`;
  return `(lambda sys, os: open(os.path.join(sys._vivarium_workspace, ${JSON.stringify(name)}), "w").write(
    (sys.modules.get("_vivarium") or sys.modules["encode.value"]).encode_value(globals().get("results"), ${bounds})
))(__import__("sys"), __import__("os"))`;
}

/** Undefined if the file is not JSON or is too large: the program may have replaced it. */
async function read(store: ArtifactStore, id: string, maxBytes: number): Promise<Json | undefined> {
  if (store.find(id).sizeBytes > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of await store.open(id)) chunks.push(chunk as Uint8Array);
  try {
    return parseJson(Buffer.concat(chunks)) as Json;
  } catch (error) {
    if (error instanceof ProtocolViolation) return undefined;
    throw error;
  }
}
