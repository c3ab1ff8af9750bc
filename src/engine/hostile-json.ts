const MAX_DEPTH = 64;

/** Something that came over a channel breaks its protocol. The message says how. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
}

/** Parses JSON of hostile origin. */
export function parseJson(text: Buffer): unknown {
  if (!isShallow(text)) throw new ProtocolViolation(`JSON nested deeper than ${MAX_DEPTH}`);
  try {
    return JSON.parse(text.toString('utf8'));
  } catch (error) {
    throw new ProtocolViolation('text that is not JSON', { cause: error });
  }
}

/** Counts brackets before JSON.parse runs: a deep tree would parse, and then break everything that walks it. */
function isShallow(text: Buffer): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index];
    if (inString) {
      if (byte === 0x5c) index += 1;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      if (depth > MAX_DEPTH) return false;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return true;
}
