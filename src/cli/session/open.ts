/** Opens the one session that a command works with. */
import { leaveSchemasUncompiled } from '../../config.ts';
import { startCommandHost } from '../../host/local/command-host.ts';
import type { Host } from '../../host/host.ts';
import type { Session } from '../../host/session.ts';
import type { Context } from '../terminal/context.ts';
import { configOf, parseMount, type SessionFlags } from './flags.ts';

export interface OpenedSession extends AsyncDisposable {
  readonly session: Session;
  readonly host: Host;
}

/** What the command needs. Leaving out the rest makes the start quicker. */
export interface SessionUse {
  /** Whether the session runs once; then no twin protects its state. */
  readonly runsOnce: boolean;
  /** Whether copies of files, figures and long outputs are kept, for the command to hand them over. */
  readonly keepsFiles: boolean;
}

/** Starts a host and opens a session in it. Disposing the result ends both. */
export async function openSession(flags: SessionFlags, use: SessionUse, context: Context): Promise<OpenedSession> {
  const { environment, lifetime, headStart } = context;
  const { signal } = lifetime;
  leaveSchemasUncompiled();
  const mounts = (flags.mount ?? []).map(parseMount);
  const { runsOnce, keepsFiles } = use;
  await using stack = new AsyncDisposableStack();
  const config = configOf(flags, environment);
  const host = stack.use(await startCommandHost({ ...config, headStart, runsOnce, keepsNothing: !keepsFiles, signal }));
  const { echo, allowNetwork = false } = flags;
  const session = await host.createSession({ echo, mounts, network: allowNetwork, idleMs: null, signal });
  const owned = stack.move(); // the session ends with its host
  return { session, host, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
