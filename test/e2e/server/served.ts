/** A server of its own for a test, with a data directory and keys. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defaultDataDir } from '../../../src/data-dir.ts';
import { findEnvironment } from '../../../src/environment/find.ts';
import { startServer, type ServerOptions } from '../../../src/server.ts';
import { KeyStore, type NewKey } from '../../../src/server/access/keys.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** What was answered: JSON if it is JSON, otherwise text. */
  readonly body: unknown;
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is text. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Sends a request as one client. */
export type Ask = (method: string, where: string, sent?: Sent) => Promise<Answer>;

export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
  readonly keys: KeyStore;
  /** Sends requests without a key. */
  readonly ask: Ask;
  /** Makes a key and returns what sends requests with it. */
  clientOf(name: string, more?: Partial<NewKey>): Promise<Ask & { readonly secret: string; readonly id: string }>;
}

export async function serve(options: ServerOptions = {}): Promise<Served> {
  await using stack = new AsyncDisposableStack();
  const environment = await findEnvironment(defaultDataDir(process.env));
  if (environment === undefined) throw new Error('No Python environment was found: run `npm run setup` first.');
  const dataDir = await mkdtemp(path.join(tmpdir(), 'viv-served-'));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const { python } = environment;
  const hostOptions = { dataDir, python, preload: [], poolSize: 0, ...options.hostOptions };
  const keys = stack.use(await KeyStore.open(dataDir));
  const { url } = stack.use(await startServer({ drainMs: 0, ...options, hostOptions }));
  const all = stack.move();
  return {
    url,
    dataDir,
    keys,
    ask: askAs(url, {}),
    clientOf: async (name, more) => {
      const { secret, record } = await keys.add({ name, role: 'client', ...more });
      return Object.assign(askAs(url, { authorization: `Bearer ${secret}` }), { secret, id: record.id });
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

export function askAs(url: string, credentials: Readonly<Record<string, string>>): Ask {
  return async (method, where, { headers = {}, body, signal } = {}) => {
    const isJson = body !== undefined && typeof body !== 'string';
    const answer = await fetch(url + where, {
      method,
      headers: { ...credentials, ...(isJson && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }),
      ...(signal && { signal }),
    });
    const text = await answer.text();
    const hasJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: answer.status, headers: answer.headers, body: hasJson ? (JSON.parse(text) as unknown) : text };
  };
}
