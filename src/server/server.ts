import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import type { Server as NodeServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { defaultDataDir } from '../data-dir.ts';
import { VivariumError } from '../errors.ts';
import { createHost } from '../host/local/local-host.ts';
import type { LogEntry } from '../log.ts';
import { Admission } from './access/admission.ts';
import { ceilingOf } from './access/ceiling/input.ts';
import { createApp } from './app.ts';
import { Sandboxes } from './e2b/sandbox/sandboxes.ts';
import { createNodeServer } from './http/node-server.ts';
import { Metrics } from './ops/metrics.ts';
import { parseServerOptions, type ParsedServerOptions, type ServerOptions } from './options.ts';
import type { ServerEnv, ServerParts } from './parts/parts.ts';
import { CommandRegistry } from './runs/command-registry.ts';
import { RunRegistry } from './runs/run-registry.ts';
import { ClientTools } from './tools/client-tools.ts';
import { readVersion } from './version.ts';
import { Services } from './tasks/services.ts';
import { TaskRegistry } from './tasks/task-registry.ts';
import { RunStore } from './runs/run-store.ts';

const DAY_MS = 24 * 3_600_000;
const DEFAULT_DAYS = 7;
const RUNS_BYTES = 1 << 30;
/** How long clients get to take the last answers when the server stops. */
const LAST_ANSWERS_MS = 1000;

/** A running server. */
export interface Server extends AsyncDisposable {
  /** Its address, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** Takes no more requests, lets running code end for a while, and stops. May be called again. */
  close(): Promise<void>;
}

/** Starts a server. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const parsed = parseServerOptions(options);
  await using stack = new AsyncDisposableStack();
  const life = { isClosing: false };
  const parts = await openParts(parsed, stack, () => life.isClosing);
  const directory = path.join(dataDirOf(parsed), 'e2b');
  const sandboxes = stack.use(new Sandboxes({ directory, host: parts.host, admission: parts.admission }));
  const node = await listen(createApp(parts, sandboxes), parsed);
  stack.defer(() => stop(node));
  const owned = stack.move();
  const drain = async (): Promise<void> => {
    life.isClosing = true;
    node.close();
    const { runs, commands, tasks } = parts;
    const running = [...runs.running, ...commands.running, ...tasks.running, ...sandboxes.contexts()];
    const ended = Promise.all(running.map((one): Promise<unknown> => one.ended));
    await Promise.race([ended, sleep(parsed.drainMs, undefined, { ref: false })]);
    await Promise.all([runs.stop(), commands.stop(), tasks.stop()]); // those who wait are told
    await owned.disposeAsync();
  };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= drain());
  return { url: urlOf(node.address() as AddressInfo), close, [Symbol.asyncDispose]: close };
}

async function openParts(
  options: ParsedServerOptions,
  stack: AsyncDisposableStack,
  isClosing: () => boolean,
): Promise<ServerParts> {
  const { hostname: address, publicHosts: hosts, domain, hostOptions, reattachMs } = options;
  const dataDir = dataDirOf(options);
  const directory = path.join(dataDir, 'server');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const metrics = new Metrics();
  const { log = () => undefined } = hostOptions;
  const observed = (entry: LogEntry): void => {
    metrics.observe(entry);
    log(entry);
  };
  const host = options.host ?? stack.use(await createHost({ ...hostOptions, log: observed }));
  const names = { hosts, domains: domain === undefined ? [] : [domain] };
  const ceiling = ceilingOf(host, options.ceiling);
  const admission = stack.use(await Admission.open({ dataDir, address, names, ceiling }));
  const retention = { maxAgeMs: (hostOptions.artifactDays ?? DEFAULT_DAYS) * DAY_MS, maxTotalBytes: RUNS_BYTES };
  const store = stack.use(await RunStore.open(path.join(directory, 'runs.sqlite'), retention));
  const runs = stack.use(new RunRegistry({ directory, store, reattachMs, onLoss: (error) => log(notKept(error)) }));
  const commands = stack.use(new CommandRegistry({ directory, reattachMs }));
  const tools = stack.use(new ClientTools({ host, admission, directory }));
  const services = stack.use(new Services({ host, admission, dataDir, configFile: options.serviceConfig }));
  const tasks = stack.use(new TaskRegistry(services, directory));
  return { host, admission, runs, commands, tools, tasks, metrics, log, version: readVersion(), isClosing };
}

/** The caller of the run has its answer; after a restart it is not known any more. */
function notKept(error: unknown): LogEntry {
  return { level: 'error', event: 'run-not-kept', error: error instanceof Error ? error.message : String(error) };
}

function dataDirOf({ hostOptions }: ParsedServerOptions): string {
  return hostOptions.dataDir ?? defaultDataDir(process.env);
}

async function listen(app: Hono<ServerEnv>, { port, hostname }: ParsedServerOptions): Promise<NodeServer> {
  const respond = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const node = createNodeServer((incoming, outgoing) => void respond(incoming, outgoing));
  node.listen(port, hostname);
  try {
    await once(node, 'listening');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new VivariumError('CONFIG_INVALID', `The server cannot listen on ${hostname}, port ${port}: ${reason}.`, {
      cause: error,
    });
  }
  return node;
}

/** Nothing is running any more. What clients do not take in time is cut off. */
async function stop(node: NodeServer): Promise<void> {
  const closed = new Promise((resolve) => node.close(resolve));
  node.closeIdleConnections();
  const timer = setTimeout(() => node.closeAllConnections(), LAST_ANSWERS_MS);
  await closed;
  clearTimeout(timer);
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
