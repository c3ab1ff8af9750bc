/** Values that are too large for a message: the session writes them to a file, and they are read from there. */
import { randomUUID } from 'node:crypto';
import type { Artifacts } from '../artifact/artifact.ts';
import { LOOSE, parseJson, ProtocolViolation } from '../engine/hostile-json.ts';
import type { Execution, Json } from '../execution/execution.ts';
import { pythonString } from '../text/code/python-code.ts';
import type { Session } from './session.ts';

/** Stores the path of the workspace before the program can change directory. In `sys` it is not a variable of the program. */
export const NOTE_WORKSPACE = '__import__("sys")._vivarium_workspace = __import__("os").getcwd()';

export interface WholeValueRequest {
  readonly variable: string;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** What it may cost to parse; see src/engine/hostile-json.ts. */
  readonly maxCost?: number;
  readonly signal?: AbortSignal | undefined;
}

/** A value, if it could be read, and how the run that wrote it has ended. */
export interface WholeValue extends Pick<Execution, 'outcome'>, Partial<Pick<Execution, 'error'>> {
  readonly value?: Json;
}

/** Reads a variable of a session that has run `NOTE_WORKSPACE`. Nothing of the file is left. */
export async function readWholeValue(
  session: Session,
  store: Artifacts,
  { variable, maxBytes, timeoutMs, maxCost = LOOSE.maxCost, signal }: WholeValueRequest,
): Promise<WholeValue> {
  const name = `results-${randomUUID()}.json`; // Jupyter servers do not serve hidden files
  const options = { timeoutMs, echo: 'none', ...(signal && { signal }) } as const;
  const { files, outcome, error } = await session.runCode(writing(name, variable, maxBytes), options);
  const ended = { outcome, ...(error && { error }) };
  const ids = files.flatMap(({ path, id }) => (id === undefined ? [] : [{ path, id }]));
  const written = ids.find(({ path }) => path === name);
  try {
    if (written === undefined) return ended;
    const value = await read(store, written.id, { maxBytes, maxCost });
    return value === undefined ? ended : { ...ended, value };
  } finally {
    for (const { id } of ids) await store.remove(id); // only this has used them
    if (written !== undefined) await session.files.remove(name).catch(() => undefined); // the program may have removed it
  }
}

/** Every session has the encoder as a module. */
function writing(name: string, variable: string, maxBytes: number): string {
  const bounds = `max_items=${maxBytes}, max_bytes=${maxBytes}`;
  return `(lambda sys, os: open(os.path.join(sys._vivarium_workspace, ${pythonString(name)}), "w").write(
    sys.modules["_vivarium.values.encode"].encode_value(globals().get(${pythonString(variable)}), ${bounds})
))(__import__("sys"), __import__("os"))`;
}

/** Undefined if the file is not JSON or is too large: the program may have replaced it. */
async function read(
  store: Artifacts,
  id: string,
  { maxBytes, maxCost }: Required<Pick<WholeValueRequest, 'maxBytes' | 'maxCost'>>,
): Promise<Json | undefined> {
  if ((await store.get(id)).sizeBytes > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of await store.open(id)) chunks.push(chunk as Uint8Array);
  try {
    return parseJson(Buffer.concat(chunks), { maxCost }) as Json;
  } catch (error) {
    if (error instanceof ProtocolViolation) return undefined;
    throw error;
  }
}
