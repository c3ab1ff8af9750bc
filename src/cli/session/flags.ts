/** Flags that several commands share, and the configuration they result in. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { defaultDataDir } from '../../data-dir.ts';
import { LEVELS, type ConfigInput, type Level, type Mount } from '../../config.ts';
import type { Echo } from '../../engine/engine.ts';
import { VivariumError } from '../../errors.ts';

export interface MachineFlags {
  readonly dataDir?: string;
  readonly python?: string;
  readonly isolation?: Level;
}

export interface SessionFlags extends MachineFlags {
  readonly timeoutMs?: number;
  readonly memoryMb?: number;
  readonly mount?: readonly string[];
  readonly allowNetwork?: boolean;
  readonly echo: Echo;
}

/** Flags win over environment variables. A command opens one session, so nothing is kept warm for others. */
export function configOf(
  flags: MachineFlags & Partial<SessionFlags>,
  environment: NodeJS.ProcessEnv,
): ConfigInput & { readonly dataDir: string } {
  const python = flags.python ?? environment['VIVARIUM_PYTHON'];
  const isolation = flags.isolation ?? levelIn(environment);
  return {
    dataDir: dataDirOf(flags, environment),
    ...(python && { python: python.includes('/') ? path.resolve(python) : python }),
    ...(isolation && { isolation }),
    preload: [],
    poolSize: 0,
    limits: {
      ...(flags.timeoutMs !== undefined && { timeoutMs: flags.timeoutMs }),
      ...(flags.memoryMb !== undefined && { memoryMb: flags.memoryMb }),
    },
  };
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

/** Reads `SOURCE:TARGET[:rw]`; a relative source is relative to the working directory. */
export function parseMount(text: string): Mount {
  const [source = '', target = '', mode = 'ro', ...rest] = text.split(':');
  if (source === '' || target === '' || rest.length > 0 || !['ro', 'rw'].includes(mode)) {
    throw new VivariumError('USAGE', `Cannot read --mount ${text}. Write SOURCE:TARGET or SOURCE:TARGET:rw.`);
  }
  if (!path.isAbsolute(target)) {
    throw new VivariumError('USAGE', `--mount ${text}: the target must be an absolute path, such as /data.`);
  }
  const mount = { source: path.resolve(source), target: path.normalize(target), writable: mode === 'rw' };
  if (!existsSync(mount.source))
    throw new VivariumError('USAGE', `--mount ${text}: ${mount.source} does not exist. Check the path.`);
  return mount;
}
