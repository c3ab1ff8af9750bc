/** Artifacts: what runs have produced. */
import { Hono } from 'hono';
import { ClientOptions, parse } from '../../config.ts';
import { sendJson, sendNothing } from '../http/answer.ts';
import { sendContent } from '../http/content.ts';
import type { ServerEnv } from '../parts/parts.ts';
import { ArtifactQuery } from '../../wire/http/query.ts';

export function artifactRoutes(): Hono<ServerEnv> {
  return new Hono<ServerEnv>()
    .get('/artifacts', async (c) => {
      const query = parse(ArtifactQuery, c.req.query());
      return sendJson(c, 200, { artifacts: await c.var.host.artifacts.list(query) });
    })
    .get('/artifacts/:id', async (c) =>
      sendJson(c, 200, await c.var.host.artifacts.get(c.req.param('id'), parse(ClientOptions, c.req.query()))),
    )
    .delete('/artifacts/:id', async (c) => {
      await c.var.host.artifacts.remove(c.req.param('id'), parse(ClientOptions, c.req.query()));
      return sendNothing(c);
    })
    .get('/artifacts/:id/content', async (c) => {
      const { artifacts } = c.var.host;
      const client = parse(ClientOptions, c.req.query());
      const { id, name, mime, sizeBytes } = await artifacts.get(c.req.param('id'), client);
      return sendContent(c, { name, mime, sizeBytes, stream: await artifacts.open(id, client) });
    });
}
