import { parseConfig } from '../config.ts';
import type { ZygoteProcess } from '../engine/local/zygote/process.ts';
import type { Host } from './host.ts';
import type { HostOptions } from './options.ts';
import { startHere } from './start-here.ts';

/** For the command line only: a host that lives for one command and has to start quickly. */
export interface CommandHostOptions extends Omit<HostOptions, 'jupyter'> {
  /** A Python process that was started before the configuration was read. Used if it fits, else ended. */
  readonly headStart: ZygoteProcess | undefined;
  /** Each session runs once, so no twin protects its state. */
  readonly runsOnce: boolean;
  /** No copies are kept of the files, figures and long outputs that runs produce. */
  readonly keepsNothing: boolean;
}

/** Configures Python first. The code of the host and its sessions is loaded while Python gets ready. */
export async function startCommandHost(options: CommandHostOptions): Promise<Host> {
  const { headStart, runsOnce, keepsNothing, signal, initCode, ...input } = options;
  const launched = Promise.withResolvers<void>();
  const starting = startHere(parseConfig(input), { headStart, signal, onLaunch: launched.resolve });
  starting.catch(() => launched.resolve()); // reported by the host, which awaits it
  await launched.promise;
  const { Host: LoadedHost } = await import('./host.ts');
  const common = { ...(initCode !== undefined && { initCode }), ...(signal && { signal }) };
  return LoadedHost.start({ ...input, ...common }, { starting, runsOnce, keepsNothing });
}
