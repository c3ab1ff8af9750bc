import { randomUUID } from 'node:crypto';
import type { Artifacts } from '../../artifact/artifact.ts';
import { LOOSE, parseJson, ProtocolViolation } from '../../engine/hostile-json.ts';
import type { Execution, Json } from '../../execution/execution.ts';
import type { Session } from '../../host/session.ts';
import { pythonString } from '../../text/code/python-code.ts';
import { truncatedPaths } from '../results/encoded.ts';
import { unanswered } from './unanswered.ts';

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
  store: Artifacts,
  value: Execution['value'],
  { maxBytes, timeoutMs }: ResultLimits,
): Promise<Execution['value']> {
  if (value === undefined || truncatedPaths(value).length === 0) return value;
  const name = `results-${randomUUID()}.json`; // Jupyter servers do not serve hidden files
  const { files, outcome, error } = await session.runCode(writing(name, maxBytes), { timeoutMs, echo: 'none' });
  if (outcome.status === 'raised' || outcome.status === 'crashed') throw unanswered('All of `results`', outcome, error);
  const ids = files.flatMap(({ path, id }) => (id === undefined ? [] : [{ path, id }]));
  try {
    const written = ids.find(({ path }) => path === name);
    return written === undefined ? value : ((await read(store, written.id, maxBytes)) ?? value);
  } finally {
    for (const { id } of ids) await store.remove(id); // only the service used them
  }
}

/** Every session has the encoder as a module. */
function writing(name: string, maxBytes: number): string {
  const bounds = `max_items=${maxBytes}, max_bytes=${maxBytes}`;
  return `(lambda sys, os: open(os.path.join(sys._vivarium_workspace, ${pythonString(name)}), "w").write(
    sys.modules["_vivarium.values.encode"].encode_value(globals().get("results"), ${bounds})
))(__import__("sys"), __import__("os"))`;
}

/** Undefined if the file is not JSON or is too large: the program may have replaced it. */
async function read(store: Artifacts, id: string, maxBytes: number): Promise<Json | undefined> {
  if ((await store.get(id)).sizeBytes > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of await store.open(id)) chunks.push(chunk as Uint8Array);
  try {
    return parseJson(Buffer.concat(chunks), LOOSE) as Json;
  } catch (error) {
    if (error instanceof ProtocolViolation) return undefined;
    throw error;
  }
}
