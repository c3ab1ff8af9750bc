/** For those who run the server: is it there, does it work, what does it do, how is it used. */
import { Hono } from 'hono';
import { VivariumError } from '../../errors.ts';
import { LocalHost } from '../../host/local/local-host.ts';
import { sendBody, sendJson, sendText } from '../http/answer.ts';
import { openApiDocument } from '../openapi/document.ts';
import { docsPage, PAGE_POLICY } from '../openapi/page.ts';
import type { ServerEnv, ServerParts } from '../parts/parts.ts';

export function serverRoutes(parts: ServerParts): Hono<ServerEnv> {
  const { host, runs, commands, tasks, metrics, version } = parts;
  let document: string | undefined;
  return new Hono<ServerEnv>()
    .get('/health', (c) => sendJson(c, 200, { status: 'ok' }))
    .get('/ready', async (c) => {
      await Promise.all([host.listSessions(), runs.store.has('')]);
      return sendJson(c, 200, { status: 'ok' });
    })
    .get('/metrics', async (c) => {
      if (!c.var.client.isAdmin) throw new VivariumError('FORBIDDEN', 'The numbers of the server are for admins.');
      const gauges = {
        sessions: (await host.listSessions()).length,
        warmSessions: host instanceof LocalHost ? host.warmSessions : null,
        runningRuns: runs.running.size,
        runningCommands: commands.running.size,
        runningTasks: tasks.running.size,
      };
      return sendBody(c, metrics.text(gauges), { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    })
    .get('/openapi.json', (c) => sendText(c, 200, (document ??= JSON.stringify(openApiDocument(version)))))
    .get('/docs', (c) =>
      sendBody(c, docsPage(), { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY }),
    );
}
