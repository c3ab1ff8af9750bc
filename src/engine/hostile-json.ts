const MAX_DEPTH = 64;
/**
 * What one text may cost to parse: one for a comma, a string or a bracket, and more for a key. JSON.parse takes about a
 * microsecond for a key that it has not seen before. So this bounds how long any text holds up the event loop.
 * Python keeps below it; see python/_vivarium/values/cost.py.
 */
const MAX_COST = 150_000;
const KEY_COST = 2;
/** For messages of a Jupyter server, which is trusted more, and for files: up to half a second. */
export const LOOSE = { maxCost: 1_000_000 };

/** Something that came over a channel breaks its protocol. The message says how, in our own words. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
}

/** Parses JSON of hostile origin. What it returns is neither deep nor large, and need not be walked to find out. */
export function parseJson(text: Buffer, bounds: { readonly maxCost?: number } = {}): unknown {
  return parseCounted(text, bounds).json;
}

/** The same with the cost, which also says how much memory the value takes: up to 50 bytes for each. */
export function parseCounted(
  text: Buffer,
  { maxCost = MAX_COST }: { readonly maxCost?: number } = {},
): { readonly json: unknown; readonly cost: number } {
  const cost = costOf(text);
  if (cost > maxCost) throw new ProtocolViolation('JSON of too many values');
  try {
    return { json: JSON.parse(text.toString('utf8')), cost };
  } catch (error) {
    throw new ProtocolViolation('text that is not JSON', { cause: error });
  }
}

/** Counts before JSON.parse runs: a deep tree would parse, and then break everything that walks it. */
function costOf(text: Buffer): number {
  let depth = 0;
  let cost = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index];
    if (inString) {
      if (byte === 0x5c) index += 1;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) {
      inString = true;
      cost += 1;
    } else if (byte === 0x2c) cost += 1;
    else if (byte === 0x3a) cost += KEY_COST;
    else if (byte === 0x5b || byte === 0x7b) {
      cost += 1;
      depth += 1;
      if (depth > MAX_DEPTH) throw new ProtocolViolation(`JSON nested deeper than ${MAX_DEPTH}`);
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return cost;
}
