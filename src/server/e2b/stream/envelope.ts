/** How the Connect protocol writes messages of a stream: a byte of flags, the length in four bytes, JSON. */
import { RpcError, type RpcCode } from './rpc-error.ts';

const HEAD_BYTES = 5;
const END_OF_STREAM = 2;
/** More than any request of the SDKs has. */
const MAX_BYTES = 16 << 20;

export function encodeMessage(message: unknown): Buffer {
  return encode(0, message);
}

/** The last message of a stream, with the reason if it has failed. */
export function encodeEnd(error?: { readonly code: RpcCode; readonly message: string }): Buffer {
  return encode(END_OF_STREAM, error === undefined ? {} : { error: { code: error.code, message: error.message } });
}

/** The one message of a request whose answer is a stream. */
export function decodeRequest(body: Buffer): unknown {
  if (body.length < HEAD_BYTES) throw new RpcError('invalid_argument', 'The request has no message.');
  const [flags, length] = [body.readUInt8(0), body.readUInt32BE(1)];
  if (flags !== 0) throw new RpcError('unimplemented', 'Compressed messages are not supported.');
  if (length > MAX_BYTES || body.length !== HEAD_BYTES + length) {
    throw new RpcError('invalid_argument', 'The length of the message is not that of the request.');
  }
  return toJson(body.toString('utf8', HEAD_BYTES));
}

export function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RpcError('invalid_argument', 'The message is not JSON.', { cause: error });
  }
}

function encode(flags: number, message: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(json.length, 1);
  return Buffer.concat([head, json]);
}
