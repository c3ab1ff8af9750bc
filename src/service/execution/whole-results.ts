import { randomUUID } from 'node:crypto';
import type { Artifacts } from '../../artifact/artifact.ts';
import { parseJson, ProtocolViolation } from '../../engine/hostile-json.ts';
import type { Execution, Json } from '../../execution/execution.ts';
import type { Session } from '../../host/session.ts';
import { cutParts } from '../results/record.ts';

export interface Bounds {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** Where the workspace is, noted before the program can go elsewhere. Names of `sys` are nobody's variables. */
export const NOTE_WORKSPACE = '__import__("sys")._vivarium_workspace = __import__("os").getcwd()';

/**
 * `results` of the run that a session has just ended, in full: a run gives back what fits into a message, and what does
 * not comes by a file. What is larger than the bounds stays cut, and so does what the program keeps from being written.
 */
export async function wholeResults(
  session: Session,
  store: Artifacts,
  value: Execution['value'],
  { maxBytes, timeoutMs }: Bounds,
): Promise<Execution['value']> {
  if (value === undefined || cutParts(value).length === 0) return value;
  const name = `results-${randomUUID()}.json`; // Jupyter servers give no hidden files
  const { files } = await session.runCode(writing(name, maxBytes), { timeoutMs, echo: 'none' });
  const ids = files.flatMap(({ path, id }) => (id === undefined ? [] : [{ path, id }]));
  try {
    const written = ids.find(({ path }) => path === name);
    return written === undefined ? value : ((await read(store, written.id, maxBytes)) ?? value);
  } finally {
    for (const { id } of ids) await store.remove(id); // they were ours alone
  }
}

/** Local sessions have the encoder as a module, kernels have it in their companion. */
function writing(name: string, maxBytes: number): string {
  const bounds = `max_items=${maxBytes}, max_bytes=${maxBytes}`;
  return `(lambda sys, os: open(os.path.join(sys._vivarium_workspace, ${JSON.stringify(name)}), "w").write(
    (sys.modules.get("_vivarium") or sys.modules["encode.value"]).encode_value(globals().get("results"), ${bounds})
))(__import__("sys"), __import__("os"))`;
}

/** Undefined for what is no JSON or more than was allowed: the program may have put anything there. */
async function read(store: Artifacts, id: string, maxBytes: number): Promise<Json | undefined> {
  if ((await store.get(id)).sizeBytes > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of await store.open(id)) chunks.push(chunk as Uint8Array);
  try {
    return parseJson(Buffer.concat(chunks)) as Json;
  } catch (error) {
    if (error instanceof ProtocolViolation) return undefined;
    throw error;
  }
}
