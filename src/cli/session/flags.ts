/** Flags that several commands share, and the configuration they result in. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { defaultDataDir } from '../../data-dir.ts';
import { LEVELS, type ConfigInput, type Level, type Mount, type NetworkInput } from '../../config.ts';
import type { Echo } from '../../engine/engine.ts';
import { VivariumError } from '../../errors.ts';
import type { PackageFlags } from './packages.ts';

export interface MachineFlags {
  /** The address of a server that has the sessions instead of this machine. */
  readonly url?: string;
  readonly dataDir?: string;
  readonly python?: string;
  /** The name of an environment. */
  readonly environment?: string;
  readonly isolation?: Level;
}

/** The flags about what a session may reach. */
export type NetworkFlags = Pick<SessionFlags, 'allowNetwork' | 'allowHost' | 'denyHost'>;

export interface SessionFlags extends MachineFlags, PackageFlags {
  readonly timeoutMs?: number;
  readonly memoryMb?: number;
  readonly mount?: readonly string[];
  readonly allowNetwork?: boolean;
  readonly allowHost?: readonly string[];
  readonly denyHost?: readonly string[];
  /** Files to copy into the session. */
  readonly file?: readonly string[];
  readonly echo: Echo;
}

/** Flags win over environment variables. A command opens one session, so nothing is kept warm for others. */
export function configOf(
  flags: MachineFlags & Partial<SessionFlags>,
  environment: NodeJS.ProcessEnv,
): ConfigInput & { readonly dataDir: string } {
  const { environment: name } = flags;
  const python = flags.python ?? (name === undefined ? environment['VIVARIUM_PYTHON'] : undefined);
  const isolation = flags.isolation ?? levelIn(environment);
  return {
    dataDir: dataDirOf(flags, environment),
    ...(python && { python: python.includes('/') ? path.resolve(python) : python }),
    ...(name !== undefined && { environment: name }),
    ...(isolation && { isolation }),
    preload: [],
    poolSize: 0,
    ...(flags.packageIndex && { packageIndexes: flags.packageIndex }),
    limits: {
      ...(flags.timeoutMs !== undefined && { timeoutMs: flags.timeoutMs }),
      ...(flags.memoryMb !== undefined && { memoryMb: flags.memoryMb }),
    },
  };
}

/** What the session may reach. */
export function networkOf({ allowNetwork = false, allowHost, denyHost }: NetworkFlags): NetworkInput {
  if (allowHost === undefined && denyHost === undefined) return allowNetwork;
  if (allowNetwork || allowHost === undefined) {
    throw new VivariumError(
      'USAGE',
      '--allow-network allows every host and cannot be limited. Leave it out, and give each host with --allow-host.',
    );
  }
  return { allow: allowHost, deny: denyHost ?? [] };
}

/** Where environments, caches, artifacts and the history of the repl are kept. */
export function dataDirOf({ dataDir }: MachineFlags, environment: NodeJS.ProcessEnv): string {
  return dataDir ? path.resolve(dataDir) : defaultDataDir(environment);
}

function levelIn({ VIVARIUM_ISOLATION: name }: NodeJS.ProcessEnv): Level | undefined {
  if (!name) return undefined;
  const level = LEVELS.find((known) => known === name);
  if (level) return level;
  throw new VivariumError('CONFIG_INVALID', `VIVARIUM_ISOLATION is "${name}". Set it to one of ${LEVELS.join(', ')}.`);
}

/** Reads `SOURCE:TARGET[:rw]`; a relative source is relative to the working directory, unless it is that of a server. */
export function parseMount(text: string, { isElsewhere = false } = {}): Mount {
  const [source = '', target = '', mode = 'ro', ...rest] = text.split(':');
  if (source === '' || target === '' || rest.length > 0 || !['ro', 'rw'].includes(mode)) {
    throw new VivariumError('USAGE', `Cannot read --mount ${text}. Write SOURCE:TARGET or SOURCE:TARGET:rw.`);
  }
  if (!path.isAbsolute(target)) {
    throw new VivariumError('USAGE', `--mount ${text}: the target must be an absolute path, such as /data.`);
  }
  const mount = { source: path.resolve(source), target: path.normalize(target), writable: mode === 'rw' };
  if (!isElsewhere && !existsSync(mount.source))
    throw new VivariumError('USAGE', `--mount ${text}: ${mount.source} does not exist. Check the path.`);
  return mount;
}
