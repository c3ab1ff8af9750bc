import { parseConfig } from '../../config.ts';
import type { ZygoteProcess } from '../../engine/local/zygote/process.ts';
import type { Host } from '../host.ts';
import type { HostOptions } from '../options.ts';
import { startLocal } from './engines.ts';

/** For the command line only: a host that lives for one command and has to start quickly. */
export interface CommandHostOptions extends Omit<HostOptions, 'engine'> {
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
  const starting = startLocal(parseConfig(input), { headStart, signal, onLaunch: launched.resolve });
  starting.catch(() => launched.resolve()); // reported by the host, which awaits it
  await launched.promise;
  const { LocalHost } = await import('./local-host.ts');
  const common = { ...(initCode !== undefined && { initCode }), ...(signal && { signal }) };
  return LocalHost.start({ ...input, ...common }, { starting, runsOnce, keepsNothing });
}
