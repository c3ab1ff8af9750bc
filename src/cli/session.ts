/** Opens the one session that a command works with, and shows what happens in it. */
import { leaveSchemasUncompiled, parseConfig, type Config } from '../config.ts';
import type { EngineSession } from '../engine/engine.ts';
import { startLocalEngine } from '../engine/local/engine.ts';
import type { Environment } from '../environment/environment.ts';
import type { Event, Summary } from '../execution/event.ts';
import { choosePython } from '../host/python.ts';
import type { Context } from './context.ts';
import { configOf, parseMount, type SessionFlags } from './options.ts';

export interface Opened extends AsyncDisposable {
  readonly session: EngineSession;
  readonly config: Config;
  readonly python: Environment;
}

/** `twins` guard the state of a session that runs more than once. */
export async function openSession(flags: SessionFlags, context: Context, twins: boolean): Promise<Opened> {
  const { environment, lifetime, headStart } = context;
  const { signal } = lifetime;
  leaveSchemasUncompiled();
  const config = parseConfig(configOf(flags, environment), environment);
  const mounts = (flags.mount ?? []).map(parseMount);
  const python = await choosePython(config, signal);
  await using stack = new AsyncDisposableStack();
  const engine = stack.use(
    await startLocalEngine({
      config,
      python: python.python,
      cacheDir: python.cacheDir,
      ...(headStart && { headStart }),
      signal,
    }),
  );
  // It ends with the engine: closing it by itself first would take as long again.
  const session = await engine.open({
    id: crypto.randomUUID(), // the module of that name is slow to load, and has been by now
    limits: config.limits,
    mounts,
    network: flags.allowNetwork ?? false,
    readOnly: false,
    environment: {},
    twins,
    signal,
  });
  const owned = stack.move();
  return { session, config, python, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Passes on output and results as they come, and gives back what is known at the end. */
export async function show(events: AsyncIterable<Event>, { stdout, stderr }: Context): Promise<Summary> {
  let summary: Summary | undefined;
  for await (const event of events) {
    switch (event.type) {
      case 'output':
        await (event.stream === 'stdout' ? stdout : stderr).relay(event.text);
        break;
      case 'clear': // what a terminal has shown stays shown
      case 'file':
      case 'figure':
        break;
      case 'result':
        await stdout.relay(`${event.result.data['text/plain'] ?? ''}\n`);
        break;
      case 'done':
        summary = event.summary;
    }
  }
  await stdout.endRelay();
  await stderr.endRelay();
  if (summary === undefined) throw new TypeError('an event stream ended without `done`');
  return summary;
}
