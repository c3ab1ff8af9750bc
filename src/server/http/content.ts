import { Readable } from 'node:stream';
import type { Exchange } from './exchange.ts';
import { sendStream } from './answer.ts';
import { partOf, readRange, type ByteRange } from './range.ts';

export interface Content {
  readonly name: string;
  readonly mime: string;
  readonly sizeBytes: number | undefined;
  readonly stream: Readable;
}

/** Answers with a file that a program has made. A browser must neither show it nor run anything in it. */
export async function sendContent(c: Exchange, { name, mime, sizeBytes, stream }: Content): Promise<Response> {
  const headers = {
    'content-type': mime,
    'content-disposition': `attachment; filename*=UTF-8''${encodeRfc5987(name.split('/').at(-1) ?? 'file')}`,
    'content-security-policy': "sandbox; default-src 'none'",
    ...(sizeBytes !== undefined && { 'accept-ranges': 'bytes', 'content-length': sizeBytes }),
  };
  const range = sizeBytes === undefined ? undefined : rangeOf(c, sizeBytes, stream);
  if (range === undefined) return sendStream(c, 200, stream, headers);
  return sendStream(c, 206, Readable.from(partOf(stream, range), { objectMode: false }), {
    ...headers,
    'content-length': range.last + 1 - range.first,
    'content-range': `bytes ${range.first}-${range.last}/${sizeBytes}`,
  });
}

function rangeOf(c: Exchange, sizeBytes: number, stream: Readable): ByteRange | undefined {
  try {
    return readRange(c.env.incoming.headers.range, sizeBytes);
  } catch (error) {
    stream.destroy(); // nobody reads it
    throw error;
  }
}

function encodeRfc5987(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
