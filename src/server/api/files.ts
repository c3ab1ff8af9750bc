/** The files of a session, streamed both ways. */
import { Hono } from 'hono';
import { mimeOf } from '../../artifact/mime.ts';
import { VivariumError } from '../../errors.ts';
import { sendJson, sendNothing } from '../http/answer.ts';
import { readChunks } from '../http/body.ts';
import { sendContent } from '../http/content.ts';
import type { ServerContext, ServerEnv } from '../parts/parts.ts';
import { sessionOf } from './sessions.ts';

export function fileRoutes(): Hono<ServerEnv> {
  return new Hono<ServerEnv>()
    .get('/sessions/:id/files', async (c) =>
      sendJson(c, 200, await (await sessionOf(c)).files.list({ signal: c.req.raw.signal })),
    )
    .get('/sessions/:id/files/*', async (c) => {
      const name = pathOf(c);
      const stream = await (await sessionOf(c)).files.download(name);
      return sendContent(c, { name, mime: mimeOf(name), sizeBytes: stream.sizeBytes, stream });
    })
    .put('/sessions/:id/files/*', async (c) => {
      const { files } = await sessionOf(c);
      return sendJson(c, 201, await files.upload(pathOf(c), readChunks(c.env.incoming)));
    })
    .delete('/sessions/:id/files/*', async (c) => {
      await (await sessionOf(c)).files.remove(pathOf(c));
      return sendNothing(c);
    });
}

/** The path in the workspace. Each part is decoded by itself, so that `%2F` does not make two parts of one. */
function pathOf(c: ServerContext): string {
  const [, tail = ''] = /^\/v1\/sessions\/[^/]+\/files\/(.*)$/s.exec(c.req.path) ?? [];
  try {
    return tail.split('/').map(decodeURIComponent).join('/');
  } catch (error) {
    throw new VivariumError('FILE_REFUSED', 'The path is not percent-encoded correctly.', { cause: error });
  }
}
