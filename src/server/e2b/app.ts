/** E2B's wire: what is for a sandbox is found by headers or by the Host name, and brings the token of that sandbox. */
import { Hono } from 'hono';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { VivariumError } from '../../errors.ts';
import { sendJson } from '../http/answer.ts';
import { describeError } from '../http/errors.ts';
import type { ServerContext, ServerEnv, ServerParts } from '../parts/parts.ts';
import { createContext, execute, listContexts, removeContext, restartContext } from './code/routes.ts';
import { downloadFile, uploadFiles } from './envd/files.ts';
import { FILESYSTEM } from './envd/filesystem.ts';
import { PROCESS } from './envd/process.ts';
import { sendRpcError, serveRpc, type RpcMethod } from './envd/service.ts';
import { USER } from './files/entry.ts';
import { isSame, isSigned, type SignedRequest } from './place/tokens.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import type { Sandboxes } from './sandbox/sandboxes.ts';
import { RpcError, toRpcError } from './stream/rpc-error.ts';
import { ENVD_PORT, findTarget, INTERPRETER_PORT, type SandboxTarget } from './target.ts';

interface E2bParts extends ServerParts {
  readonly sandboxes: Sandboxes;
}

type Handler = (c: ServerContext, sandbox: Sandbox) => Promise<Response> | Response;

/** Answers what is for a sandbox, and leaves everything else to the routes that come next. */
export function sandboxRoutes(server: ServerParts, sandboxes: Sandboxes): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>();
  const parts = { ...server, sandboxes };
  const [envd, interpreter] = [envdRoutes(parts), interpreterRoutes(parts)];
  app.use('*', async (c, next) => {
    const target = findTarget(c.env.incoming.headers);
    if (target !== null) {
      if (target.port === ENVD_PORT) return envd.fetch(c.req.raw, c.env);
      return target.port === INTERPRETER_PORT ? interpreter.fetch(c.req.raw, c.env) : closedPort(c, target);
    }
    // The address of a file that the SDK has signed names no sandbox: its signature tells which it is.
    if (c.req.path === '/files' && c.req.query('signature') !== undefined) return envd.fetch(c.req.raw, c.env);
    return next();
  });
  return app;
}

function envdRoutes(parts: E2bParts): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>();
  app.onError((error, c) => {
    logBug(parts, error);
    return sendError(c, error);
  });
  const withToken = (handler: Handler) => async (c: ServerContext) => {
    const sandbox = sandboxOf(c, parts);
    if (!isSame(c.req.header('x-access-token'), sandbox.tokens.envd)) throw unauthorized();
    return admitted(c, parts, sandbox, handler);
  };
  const withSignature = (operation: SignedRequest['operation'], handler: Handler) => async (c: ServerContext) => {
    if (c.req.header('x-access-token') !== undefined) return withToken(handler)(c);
    const sandbox = signedSandbox(c, parts, operation);
    return admitted(c, parts, sandbox, handler);
  };
  const serve =
    (methods: Readonly<Record<string, RpcMethod>>): Handler =>
    (c, sandbox) => {
      const name = c.req.param('method') ?? '';
      const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
      if (method !== undefined) return serveRpc(c, method, { sandbox, onError: (error) => logBug(parts, error) });
      return sendRpcError(c, new RpcError('unimplemented', 'Vivarium does not have this method.'));
    };
  return app
    .get('/health', (c) => {
      sandboxOf(c, parts);
      c.env.outgoing.writeHead(204).end();
      return RESPONSE_ALREADY_SENT;
    })
    .get('/files', withSignature('read', downloadFile))
    .post('/files', withSignature('write', uploadFiles))
    .post('/filesystem.Filesystem/:method', withToken(serve(FILESYSTEM)))
    .post('/process.Process/:method', withToken(serve(PROCESS)));
}

function interpreterRoutes(parts: E2bParts): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>();
  app.onError((error, c) => {
    logBug(parts, error);
    return sendPlainError(c, error);
  });
  const withToken = (handler: Handler) => async (c: ServerContext) => {
    const sandbox = sandboxOf(c, parts);
    const { envd, traffic } = sandbox.tokens;
    const isKnown =
      isSame(c.req.header('x-access-token'), envd) || isSame(c.req.header('e2b-traffic-access-token'), traffic);
    if (!isKnown) throw unauthorized();
    return admitted(c, parts, sandbox, handler);
  };
  return app
    .get('/health', (c) => {
      sandboxOf(c, parts);
      return sendJson(c, 200, 'OK');
    })
    .post('/execute', withToken(execute))
    .get('/contexts', withToken(listContexts))
    .post('/contexts', withToken(createContext))
    .delete('/contexts/:id', withToken(removeContext))
    .post('/contexts/:id/restart', withToken(restartContext));
}

/** A sandbox has one user. SDKs name another one as Basic credentials, or in the address of a file. */
function assertUser(c: ServerContext): void {
  const [, credentials = ''] = /^Basic (\S+)$/i.exec(c.req.header('authorization') ?? '') ?? [];
  const named = c.req.query('username') ?? Buffer.from(credentials, 'base64').toString().split(':')[0] ?? '';
  if (named === '' || named === USER) return;
  throw new VivariumError('CONFIG_INVALID', `A sandbox of Vivarium has one user, "${USER}". Leave the user out.`);
}

/** The request has a secret of the sandbox, so it is from its maker. */
async function admitted(c: ServerContext, parts: E2bParts, sandbox: Sandbox, handler: Handler): Promise<Response> {
  assertUser(c);
  if (parts.isClosing()) throw new VivariumError('SERVER_CLOSING', 'The server is being stopped.');
  await parts.admission.readmit(sandbox.settings.client, c.env.outgoing);
  return handler(c, sandbox);
}

/** What E2B's proxy answers for a sandbox that is not running; the SDKs look for these words. */
class SandboxGone extends Error {}

function sandboxOf(c: ServerContext, { sandboxes }: E2bParts): Sandbox {
  const target = findTarget(c.env.incoming.headers);
  const running = target === null ? undefined : sandboxes.find(target.sandboxId);
  if (running === undefined) throw new SandboxGone('The sandbox was not found');
  return running.sandbox;
}

function signedSandbox(c: ServerContext, parts: E2bParts, operation: SignedRequest['operation']): Sandbox {
  const request = {
    path: c.req.query('path') ?? '',
    operation,
    username: c.req.query('username') ?? '',
    signature: c.req.query('signature'),
    expiration: c.req.query('signature_expiration'),
  };
  const target = findTarget(c.env.incoming.headers);
  const meant = target === null ? parts.sandboxes.all() : [sandboxOf(c, parts)];
  const found = meant.find(({ tokens }) => isSigned(request, tokens.envd));
  if (found === undefined) throw unauthorized();
  return found;
}

/** The client is told nothing about a bug of ours. */
function logBug({ log }: E2bParts, error: unknown): void {
  const isExpected = [VivariumError, RpcError, SandboxGone].some((kind) => error instanceof kind);
  if (isExpected) return;
  log({ level: 'error', event: 'failure', error: error instanceof Error ? error.stack : String(error) });
}

function unauthorized(): VivariumError {
  return new VivariumError('UNAUTHORIZED', 'The request does not have the access token of the sandbox.');
}

function closedPort(c: ServerContext, { sandboxId, port }: SandboxTarget): Response {
  const message = 'The sandbox is running but port is not open: ports of sandboxes cannot be reached from outside.';
  return sendJson(c, 502, { sandboxId, port, message, code: 502 });
}

function sendError(c: ServerContext, error: unknown): Promise<Response> | Response {
  if (error instanceof SandboxGone) return sendJson(c, 502, { code: 502, message: error.message });
  if (c.req.path !== '/files') return sendRpcError(c, toRpcError(error));
  const { status: usual, body } = describeError(error);
  const status = FILE_STATUS.get(body.code) ?? usual;
  // What is left of a body that nobody reads would be taken for the next request.
  if (!c.env.incoming.complete) c.env.outgoing.setHeader('connection', 'close');
  return sendJson(c, status, { code: status, message: body.message });
}

/** The SDKs show the body as it is. */
function sendPlainError(c: ServerContext, error: unknown): Response {
  if (error instanceof SandboxGone) return sendPlain(c, 502, error.message);
  const { status, body } = describeError(error);
  return sendPlain(c, status, body.message);
}

function sendPlain(c: ServerContext, status: number, text: string): Response {
  const { outgoing } = c.env;
  if (outgoing.headersSent) outgoing.destroy();
  else
    outgoing.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).end(text);
  return RESPONSE_ALREADY_SENT;
}

/** The numbers by which the SDKs know these errors. */
const FILE_STATUS: ReadonlyMap<string, number> = new Map([
  ['FILE_REFUSED', 400],
  ['FILE_TOO_LARGE', 507],
]);
