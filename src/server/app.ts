import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { VivariumError } from '../errors.ts';
import type { LogEntry } from '../log.ts';
import { artifactRoutes } from './api/artifacts.ts';
import { commandRoutes } from './api/commands.ts';
import { fileRoutes } from './api/files.ts';
import { hostRoutes } from './api/host.ts';
import { runRoutes } from './api/runs.ts';
import { sessionRoutes } from './api/sessions.ts';
import { stateRoutes } from './api/state.ts';
import { taskRoutes } from './api/tasks.ts';
import { toolRoutes } from './api/tools.ts';
import { sandboxRoutes } from './e2b/app.ts';
import { controlRoutes } from './e2b/control/routes.ts';
import type { Sandboxes } from './e2b/sandbox/sandboxes.ts';
import { sendJson } from './http/answer.ts';
import { serverRoutes } from './api/server.ts';
import { describeError } from './http/errors.ts';
import type { ServerContext, ServerEnv, ServerParts } from './parts/parts.ts';

/** Everything that the server answers. */
export function createApp(parts: ServerParts, sandboxes: Sandboxes): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>();
  app.onError((error, c) => {
    if (!(error instanceof VivariumError)) parts.log(failure(c, error));
    return sendError(c, error);
  });
  app.notFound((c) =>
    sendError(c, new VivariumError('NOT_FOUND', `There is nothing at ${c.req.method} ${c.req.path}.`)),
  );
  app.use(async (c, next) => {
    watch(c, parts);
    parts.admission.inspect(c.env.incoming);
    await next();
  });
  app.route('/', sandboxRoutes(parts, sandboxes)); // which have secrets of their own
  app.use(async (c, next) => {
    await admit(c, parts);
    await next();
  });
  app.route('/', serverRoutes(parts));
  app.route('/v1', sessionRoutes(parts));
  app.route('/v1', runRoutes(parts));
  app.route('/v1', fileRoutes());
  app.route('/v1', stateRoutes(parts));
  app.route('/v1', commandRoutes(parts));
  app.route('/v1', artifactRoutes());
  app.route('/v1', hostRoutes(parts));
  app.route('/v1', toolRoutes(parts));
  app.route('/v1', taskRoutes(parts));
  app.route('/', controlRoutes(sandboxes));
  return app;
}

/** Counts and logs a request when it is over. */
function watch(c: ServerContext, { metrics, log }: ServerParts): void {
  const startedMs = performance.now();
  const requestId = randomUUID();
  c.set('requestId', requestId);
  const { method, path } = c.req;
  const { outgoing } = c.env;
  outgoing.once('close', () => {
    const { statusCode: status, writableFinished: isComplete } = outgoing;
    metrics.countRequest(status);
    const durationMs = performance.now() - startedMs;
    const client = c.get('client')?.name ?? null;
    const level = status >= 500 ? 'error' : 'info';
    log({
      level,
      event: 'request',
      requestId,
      method,
      path,
      status,
      client,
      durationMs,
      ...(!isComplete && { isComplete }),
    });
  });
}

/** Finds out who sends a request. Throws if it may not go on. */
async function admit(c: ServerContext, { admission, host, isClosing }: ServerParts): Promise<void> {
  const client = await admission.admit(c.env);
  if (isClosing() && c.req.path !== '/health') {
    throw new VivariumError(
      'SERVER_CLOSING',
      'The server is being stopped. It finishes what it runs, and starts nothing.',
    );
  }
  c.set('client', client);
  c.set('host', admission.hostOf(host, client));
}

/** A bug of ours. The client is told nothing about it but where to look. */
function failure(c: ServerContext, error: Error): LogEntry {
  return { level: 'error', event: 'failure', requestId: c.var.requestId, error: error.stack ?? error.message };
}

function sendError(c: ServerContext, error: unknown): Response {
  const { status, body } = describeError(error);
  return sendJson(c, status, body);
}
