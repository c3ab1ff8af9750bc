/** The state of a session: variables, completions, tables, packages, its notebook. */
import { Hono } from 'hono';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import { assignments, contextAssignment } from '../../host/local/run/variables.ts';
import type { NotebookOptions, Session } from '../../host/session.ts';
import type { Notebook } from '../../notebook/nbformat.ts';
import {
  CompletionRequestSchema,
  NotebookQuerySchema,
  PackageRequestSchema,
  TableRequestSchema,
  ValuesSchema,
} from '../../wire/http/session.ts';
import { sendJson, sendNothing } from '../http/answer.ts';
import { readJson } from '../http/body.ts';
import type { ServerContext, ServerEnv, ServerParts } from '../parts/parts.ts';
import { pastNotebook } from '../runs/past-notebook.ts';
import { sessionOf } from './sessions.ts';

export function stateRoutes(parts: ServerParts): Hono<ServerEnv> {
  const { runs } = parts;
  return new Hono<ServerEnv>()
    .get('/sessions/:id/variables', async (c) => {
      const session = await sessionOf(c);
      return sendJson(c, 200, { variables: await session.inspect({ signal: c.req.raw.signal }) });
    })
    .put('/sessions/:id/variables', async (c) => {
      const variables = await readJson(c, ValuesSchema);
      const session = await sessionOf(c);
      await session.setVariables(variables, { signal: c.req.raw.signal });
      await runs.note(session, 'variables', assignments(variables));
      return sendNothing(c);
    })
    .put('/sessions/:id/context', async (c) => {
      const data = await readJson(c, ValuesSchema);
      const session = await sessionOf(c);
      await session.setContext(data, { signal: c.req.raw.signal });
      await runs.note(session, 'variables', await contextAssignment(data));
      return sendNothing(c);
    })
    .post('/sessions/:id/completions', async (c) => {
      const { code, cursor } = await readJson(c, CompletionRequestSchema);
      const session = await sessionOf(c);
      return sendJson(c, 200, await session.complete(code, cursor, { signal: c.req.raw.signal }));
    })
    .post('/sessions/:id/tables', async (c) => {
      const { name, ...options } = await readJson(c, TableRequestSchema);
      const session = await sessionOf(c);
      return sendJson(c, 201, await session.exportTable(name, { ...options, signal: c.req.raw.signal }));
    })
    .post('/sessions/:id/packages', async (c) => {
      const { requirements } = await readJson(c, PackageRequestSchema);
      const session = await sessionOf(c);
      return sendJson(c, 200, await session.install(requirements, { signal: c.req.raw.signal }));
    })
    .get('/sessions/:id/notebook', async (c) => {
      const { includePast, ...rest } = parse(NotebookQuerySchema, c.req.query());
      const options = { ...rest, ...(includePast !== undefined && { includePast: includePast === 'true' }) };
      return sendJson(c, 200, await notebookOf(c, parts, options));
    });
}

/** The notebook of a session, or of one that has ended, as far as its runs are kept. */
async function notebookOf(c: ServerContext, parts: ServerParts, options: NotebookOptions): Promise<Notebook> {
  const session = await sessionOf(c).catch((error: unknown) => {
    if (error instanceof VivariumError && /^SESSION_(?:NOT_FOUND|CLOSED)$/.test(error.code)) return error;
    throw error;
  });
  if (!(session instanceof VivariumError)) return (session satisfies Session).exportNotebook(options);
  const steps = await parts.runs.store.ofSession(c.req.param('id') ?? '', c.var.client.id);
  if (steps.length === 0) throw session;
  return pastNotebook(steps, { pythonVersion: parts.host.environment.version, ...options });
}
