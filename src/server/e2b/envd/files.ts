/** Content of files of a sandbox, streamed both ways. */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { mimeOf } from '../../../artifact/mime.ts';
import { VivariumError } from '../../../errors.ts';
import { sendJson } from '../../http/answer.ts';
import { readChunks } from '../../http/body.ts';
import { sendContent } from '../../http/content.ts';
import type { ServerContext } from '../../parts/parts.ts';
import type { FileEntry } from '../files/entry.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { boundaryOf, readForm } from './multipart.ts';

export async function downloadFile(c: ServerContext, { files }: Sandbox): Promise<Response> {
  const path = pathIn(c);
  const file = await files.open(path);
  const stream = file.stream();
  return sendContent(c, { name: path, mime: mimeOf(path), sizeBytes: file.sizeBytes, stream });
}

/** Takes one file as the body, or several as a form. */
export async function uploadFiles(c: ServerContext, sandbox: Sandbox): Promise<Response> {
  const type = c.req.header('content-type') ?? '';
  const boundary = boundaryOf(type);
  const written: object[] = [];
  if (boundary !== undefined) {
    const given = c.req.query('path');
    for await (const { filename, content } of readForm(bodyOf(c), boundary)) {
      if (given !== undefined && written.length > 0) throw invalid('A request with a path has one file.');
      written.push(await write(sandbox, given ?? filename, content));
    }
    if (written.length === 0) throw invalid('The form has no file.');
  } else if (/^application\/octet-stream\b/i.test(type)) {
    written.push(await write(sandbox, pathIn(c), bodyOf(c)));
  } else {
    throw invalid('Send files as application/octet-stream or multipart/form-data.');
  }
  return sendJson(c, 200, written);
}

async function write(sandbox: Sandbox, path: string, content: AsyncIterable<Uint8Array>): Promise<object> {
  const entry: FileEntry = await sandbox.files.write(path, content, await sandbox.roomForFile());
  return { name: entry.name, path: entry.path, type: 'file' };
}

function bodyOf(c: ServerContext): AsyncIterable<Uint8Array> {
  const body = readChunks(c.env.incoming);
  const encoding = c.req.header('content-encoding') ?? 'identity';
  if (encoding === 'identity') return body;
  if (encoding !== 'gzip') throw invalid('The content encoding must be gzip, or none.');
  return unzipped(body);
}

async function* unzipped(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const source = Readable.from(body, { objectMode: false });
  const content = createGunzip();
  source.once('error', (error) => content.destroy(error));
  try {
    for await (const chunk of source.pipe(content)) yield chunk as Uint8Array;
  } catch (error) {
    throw error instanceof VivariumError ? error : invalid('The content is not what gzip makes.');
  } finally {
    source.destroy();
    content.destroy();
  }
}

function pathIn(c: ServerContext): string {
  const path = c.req.query('path');
  if (path !== undefined && path !== '') return path;
  throw invalid('The request names no path.');
}

function invalid(message: string): VivariumError {
  return new VivariumError('REQUEST_INVALID', message);
}
