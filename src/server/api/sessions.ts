/** Sessions: open, find, list, end, and what is asked of one as a whole. */
import { Hono } from 'hono';
import { ClientOptions, parse } from '../../config.ts';
import type { Session, SessionInfo } from '../../host/session.ts';
import { SessionOptionsSchema } from '../../wire/options.ts';
import { sendJson, sendNothing } from '../http/answer.ts';
import { readJson } from '../http/body.ts';
import type { ServerContext, ServerEnv, ServerParts } from '../parts/parts.ts';

export function sessionRoutes({ runs }: ServerParts): Hono<ServerEnv> {
  return new Hono<ServerEnv>()
    .post('/sessions', async (c) => {
      const session = await c.var.host.createSession(await readJson(c, SessionOptionsSchema));
      return sendJson(c, 201, await viewOf(c, session));
    })
    .get('/sessions', async (c) => {
      const options = parse(ClientOptions, c.req.query());
      const sessions = await c.var.host.listSessions(options);
      return sendJson(c, 200, { sessions: sessions.map((info) => seenBy(c, info)) });
    })
    .get('/sessions/:id', async (c) => {
      const session = await c.var.host.getSession(c.req.param('id'), parse(ClientOptions, c.req.query()));
      return sendJson(c, 200, await viewOf(c, session));
    })
    .delete('/sessions/:id', async (c) => {
      await (await sessionOf(c)).close();
      return sendNothing(c);
    })
    .post('/sessions/:id/interrupt', async (c) => {
      await (await sessionOf(c)).interrupt();
      return sendNothing(c);
    })
    .post('/sessions/:id/reset', async (c) => {
      const session = await sessionOf(c);
      await session.reset({ signal: c.req.raw.signal });
      await runs.note(session, 'reset');
      return sendNothing(c);
    })
    .post('/sessions/:id/rollback', async (c) => {
      const session = await sessionOf(c);
      const rollback = await session.rollback({ signal: c.req.raw.signal });
      await runs.note(session, 'rollback');
      return sendJson(c, 200, rollback);
    });
}

/** The session that the path of a request names. */
export function sessionOf(c: ServerContext): Promise<Session> {
  return c.var.host.getSession(c.req.param('id') ?? '');
}

async function viewOf(
  c: ServerContext,
  session: Session,
): Promise<SessionInfo & Pick<Session, 'isolation'> & { filesLocation: string }> {
  const info = seenBy(c, { ...(await session.info()), workspace: session.files.location });
  return { ...info, isolation: session.isolation, filesLocation: info.workspace };
}

/** Where files are on the machine concerns only its owner. To others they are at an address of the server. */
function seenBy(c: ServerContext, info: SessionInfo): SessionInfo {
  return c.var.client.isAdmin ? info : { ...info, workspace: `/v1/sessions/${encodeURIComponent(info.id)}/files` };
}
