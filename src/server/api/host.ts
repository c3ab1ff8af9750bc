/** What a client may know of the host. */
import { Hono } from 'hono';
import { sendJson } from '../http/answer.ts';
import type { ServerEnv, ServerParts } from '../parts/parts.ts';

export function hostRoutes({ version }: ServerParts): Hono<ServerEnv> {
  return new Hono<ServerEnv>().get('/host', (c) => {
    const { environment, limits, access, isolation } = c.var.host;
    const { ceiling, isAdmin } = c.var.client;
    const { mounts, network, packages } = access;
    const seen = isAdmin ? access : { mounts: mounts.map(hideSource), network, env: {}, packages };
    return sendJson(c, 200, {
      version,
      environment: isAdmin ? environment : { ...environment, cacheDir: '' },
      limits,
      access: seen,
      isolation,
      ceiling: ceiling && { ...ceiling, mounts: isAdmin ? ceiling.mounts : ceiling.mounts.map(hideSource) },
    });
  });
}

/** Where something is on the machine concerns nobody else. */
function hideSource<T extends { readonly source: string }>(mount: T): T {
  return { ...mount, source: '' };
}
