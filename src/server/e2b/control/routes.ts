/** The control plane: sandboxes are created, found, given time and ended here. */
import { Hono } from 'hono';
import { parse } from '../../../config.ts';
import { VivariumError } from '../../../errors.ts';
import { sendJson, sendNothing } from '../../http/answer.ts';
import { readJson } from '../../http/body.ts';
import { describeError } from '../../http/errors.ts';
import type { ServerContext, ServerEnv } from '../../parts/parts.ts';
import type { RunningSandbox, Sandboxes } from '../sandbox/sandboxes.ts';
import { selectPage } from './list.ts';
import { ConnectBody, ListQuery, NewSandboxBody, refuseUnsupported, TimeoutBody } from './schema.ts';
import { UnsupportedFeature } from './unsupported.ts';
import { toConnection, toDetail, toListed, toMetrics } from './view.ts';

/** As long as a run may take at all: the client of a sandbox sets the time of each run itself. */
const LONGEST_RUN_MS = 24 * 3_600_000;

/** What E2B has and Vivarium has not, by its path. */
const MISSING: readonly (readonly [path: string, what: string])[] = [
  ['/sandboxes/:id/pause', 'Pausing sandboxes'],
  ['/sandboxes/:id/resume', 'Pausing sandboxes'],
  ['/sandboxes/:id/fork', 'Forking sandboxes'],
  ['/sandboxes/:id/snapshots', 'Taking snapshots'],
  ['/snapshots', 'Taking snapshots'],
  ['/sandboxes/:id/network', 'Changing the network of a sandbox'],
  ['/sandboxes/:id/logs', 'Reading logs of a sandbox'],
  ['/v2/sandboxes/:id/logs', 'Reading logs of a sandbox'],
  ['/templates', 'Templates'],
  ['/templates/*', 'Templates'],
  ['/v2/templates/*', 'Templates'],
  ['/v3/templates', 'Templates'],
  ['/volumes', 'Volumes'],
  ['/volumes/*', 'Volumes'],
  ['/secrets', 'Secrets'],
  ['/secrets/*', 'Secrets'],
];

export function controlRoutes(sandboxes: Sandboxes): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>();
  app.onError((error, c) => sendControlError(c, error));
  for (const [path, what] of MISSING) {
    app.all(path, () => {
      throw new UnsupportedFeature(what);
    });
  }
  const create = async (c: ServerContext): Promise<Response> => {
    const body = await readJson(c, NewSandboxBody);
    refuseUnsupported(body);
    return sendJson(c, 201, toConnection(await createSandbox(c, sandboxes, body)));
  };
  const connect = async (c: ServerContext): Promise<Response> => {
    const running = sandboxOf(c, sandboxes);
    const { timeout } = await readJson(c, ConnectBody);
    const wantedMs = Date.now() + 1000 * timeout;
    if (wantedMs > running.endsAt.getTime()) sandboxes.setTimeout(running.sandbox.id, 1000 * timeout);
    return sendJson(c, 200, toConnection(running));
  };
  return app
    .post('/v2/sandboxes', create)
    .post('/sandboxes', create)
    .get('/v2/sandboxes', (c) => {
      const { items, nextToken } = selectPage(sandboxes.list(c.var.client), parse(ListQuery, c.req.query()));
      const headers = nextToken === null ? {} : { 'x-next-token': nextToken };
      return sendJson(
        c,
        200,
        items.map((one) => toListed(one, c.var.host)),
        headers,
      );
    })
    .get('/sandboxes/:id', (c) => sendJson(c, 200, toDetail(sandboxOf(c, sandboxes), c.var.host)))
    .delete('/sandboxes/:id', async (c) => {
      await sandboxes.kill(sandboxOf(c, sandboxes).sandbox.id);
      return sendNothing(c);
    })
    .post('/v2/sandboxes/:id/connect', connect)
    .post('/sandboxes/:id/connect', connect)
    .post('/sandboxes/:id/timeout', async (c) => {
      const { sandbox } = sandboxOf(c, sandboxes);
      const { timeout } = await readJson(c, TimeoutBody);
      sandboxes.setTimeout(sandbox.id, 1000 * timeout);
      return sendNothing(c);
    })
    .get('/sandboxes/:id/metrics', async (c) =>
      sendJson(c, 200, await toMetrics(sandboxOf(c, sandboxes).sandbox, c.var.host)),
    );
}

async function createSandbox(c: ServerContext, sandboxes: Sandboxes, body: NewSandboxBody): Promise<RunningSandbox> {
  const { client, host } = c.var;
  const { allow_internet_access: wantsNetwork } = body;
  if (wantsNetwork === true && host.access.network === false) {
    throw new VivariumError(
      'CONFIG_INVALID',
      'The sandboxes of this server have no network. Leave allowInternetAccess out, or start the server with a network.',
    );
  }
  const settings = {
    client,
    templateId: body.templateID,
    metadata: body.metadata ?? {},
    variables: body.envVars ?? {},
    session: {
      limits: { timeoutMs: client.ceiling?.limits.timeoutMs ?? LONGEST_RUN_MS },
      ...(wantsNetwork === false && { network: false }),
    },
  };
  return sandboxes.create(settings, 1000 * body.timeout);
}

function sandboxOf(c: ServerContext, sandboxes: Sandboxes): RunningSandbox {
  return sandboxes.get(c.req.param('id') ?? '', c.var.client);
}

/** E2B's own form of an error: its code is the HTTP status. */
function sendControlError(c: ServerContext, error: unknown): Response {
  if (error instanceof UnsupportedFeature) return sendJson(c, 501, { code: 501, message: error.message });
  const { status, body } = describeError(error);
  return sendJson(c, status, { code: status, message: body.message });
}
