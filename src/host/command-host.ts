import { parseConfig, type ConfigInput } from '../config.ts';
import type { ZygoteProcess } from '../engine/local/zygote/process.ts';
import type { Host } from './host.ts';
import { startHere } from './start-here.ts';

/** For the command line only: a host that lives for one command and has to start quickly. */
export interface CommandHostOptions extends ConfigInput {
  /** A Python process that was started before the configuration was read. Used if it fits, else ended. */
  readonly headStart: ZygoteProcess | undefined;
  /** Each session runs once, so no twin protects its state. */
  readonly runsOnce: boolean;
  /** No copies are kept of the files, figures and long outputs that runs produce. */
  readonly keepsNothing: boolean;
  /** Cancels the start. */
  readonly signal: AbortSignal;
}

/** Configures Python first. The code of the host and its sessions is loaded while Python gets ready. */
export async function startCommandHost(options: CommandHostOptions): Promise<Host> {
  const { headStart, runsOnce, keepsNothing, signal, ...input } = options;
  const launched = Promise.withResolvers<void>();
  const starting = startHere(parseConfig(input), { headStart, signal, onLaunch: launched.resolve });
  starting.catch(() => launched.resolve()); // reported by the host, which awaits it
  await launched.promise;
  const { Host: LoadedHost } = await import('./host.ts');
  return LoadedHost.start({ ...input, signal }, { starting, runsOnce, keepsNothing });
}
