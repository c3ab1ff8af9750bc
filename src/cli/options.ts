/** Turns flags and environment variables into the configuration that the library takes. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { LEVELS, type ConfigInput, type Level, type Mount } from '../config.ts';
import type { Echo } from '../engine/engine.ts';
import { VivariumError } from '../errors.ts';

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

/** Flags win over the environment, which wins over defaults. A command serves one session: nothing is kept warm for others. */
export function configOf(flags: MachineFlags & Partial<SessionFlags>, environment: NodeJS.ProcessEnv): ConfigInput {
  const python = flags.python ?? environment['VIVARIUM_PYTHON'];
  const isolation = flags.isolation ?? levelIn(environment);
  return {
    ...(flags.dataDir && { dataDir: path.resolve(flags.dataDir) }),
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

function levelIn({ VIVARIUM_ISOLATION: name }: NodeJS.ProcessEnv): Level | undefined {
  if (!name) return undefined;
  const level = LEVELS.find((known) => known === name);
  if (level) return level;
  throw new VivariumError('CONFIG_INVALID', `VIVARIUM_ISOLATION is "${name}". It must be one of ${LEVELS.join(', ')}.`);
}

/** Reads `SOURCE:TARGET[:rw]`; a relative source is relative to the working directory. */
export function parseMount(text: string): Mount {
  const [source = '', target = '', mode = 'ro', ...rest] = text.split(':');
  if (source === '' || target === '' || rest.length > 0 || !['ro', 'rw'].includes(mode)) {
    throw new VivariumError('USAGE', `--mount ${text} is not understood. Write SOURCE:TARGET or SOURCE:TARGET:rw.`);
  }
  if (!path.isAbsolute(target)) {
    throw new VivariumError('USAGE', `--mount ${text}: the target must be an absolute path, such as /data.`);
  }
  const mount = { source: path.resolve(source), target: path.normalize(target), writable: mode === 'rw' };
  if (!existsSync(mount.source)) throw new VivariumError('USAGE', `--mount ${text}: there is no ${mount.source}.`);
  return mount;
}
