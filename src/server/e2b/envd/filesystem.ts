/** The service `filesystem.Filesystem` of a sandbox. */
import { z } from 'zod';
import type { FileEvent } from '../files/watch.ts';
import { streaming, unary, type RpcCall, type RpcMethod } from './service.ts';

const Path = z.object({ path: z.string().min(1) });
const Watched = Path.extend({ recursive: z.boolean().default(false) });
const Watcher = z.object({ watcherId: z.string() });

export const FILESYSTEM: Readonly<Record<string, RpcMethod>> = {
  Stat: unary(Path, ({ path }, { files }) => ({ entry: files.stat(path) })),
  ListDir: unary(Path.extend({ depth: z.int().nonnegative().default(1) }), ({ path, depth }, { files }) => ({
    entries: files.list(path, Math.max(1, depth)),
  })),
  MakeDir: unary(Path, ({ path }, { files }) => ({ entry: files.makeDirectory(path) })),
  Move: unary(
    z.object({ source: z.string().min(1), destination: z.string().min(1) }),
    ({ source, destination }, { files }) => ({ entry: files.move(source, destination) }),
  ),
  Remove: unary(Path, async ({ path }, { files }) => {
    await files.remove(path);
    return {};
  }),
  WatchDir: streaming(Watched, { keepalive: {} }, watchDirectory),
  CreateWatcher: unary(Watched, (request, { watchers }) => ({ watcherId: watchers.create(request) })),
  GetWatcherEvents: unary(Watcher, ({ watcherId }, { watchers }) => ({ events: watchers.take(watcherId) })),
  RemoveWatcher: unary(Watcher, ({ watcherId }, { watchers }) => watchers.remove(watcherId)),
};

async function* watchDirectory(
  request: z.infer<typeof Watched>,
  { sandbox, gone, timeoutMs }: RpcCall,
): AsyncGenerator<{ readonly start: object } | { readonly filesystem: FileEvent }, void, undefined> {
  using watch = sandbox.watchers.stream(request);
  const stop = (): void => watch.events.leave();
  gone.addEventListener('abort', stop, { once: true });
  const timer = timeoutMs === null ? undefined : setTimeout(stop, timeoutMs);
  try {
    yield { start: {} };
    for await (const event of watch.events) yield { filesystem: event };
  } finally {
    clearTimeout(timer);
    gone.removeEventListener('abort', stop);
  }
}
