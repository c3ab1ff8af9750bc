import path from 'node:path';
import { z } from 'zod';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import type { ActionOptions } from '../action/base-action.ts';
import { accessShape, type AccessOptions } from '../place/access.ts';
import { DEFAULT_WORK_DIR } from './images.ts';

export interface IPythonOptions extends ActionOptions, AccessOptions {
  /** Seconds that a run may take. */
  readonly timeout?: number;
  /** A directory of the host whose files the code may read, and where it starts; `ENV` for what `USER_DATA_DIR` names. */
  readonly userDataDir?: string | null;
  readonly user_data_dir?: string | null;
  /** Where output images are written. */
  readonly workDir?: string;
  readonly work_dir?: string;
  /** Lets the code write in the user data directory too. */
  readonly userDataWritable?: boolean;
  /** Shared; without it the action starts one of its own. */
  readonly engine?: Host | null;
}

const MAX_TIMEOUT_S = 24 * 3600;

const Options = z.strictObject({
  timeout: z.number().default(20),
  userDataDir: z.string().nullish(),
  user_data_dir: z.string().nullish(),
  workDir: z.string().optional(),
  work_dir: z.string().optional(),
  userDataWritable: z.boolean().default(false),
  ...accessShape,
});

/** What an action was made with, nothing left open. */
export interface IPythonSettings {
  readonly timeout: number;
  readonly workDir: string;
  /** Empty for none. Asked for each session: the environment may name another one by then. */
  readonly userDataDir: () => string;
  readonly userDataWritable: boolean;
  readonly access: Pick<z.infer<typeof Options>, 'mounts' | 'network' | 'environment'>;
}

export function parseIPython(given: IPythonOptions): IPythonSettings {
  const { engine: _, description: __, parser: ___, enable: ____, ...options } = given;
  const { timeout, userDataWritable, mounts, network, environment, ...names } = parse(Options, options);
  limitMs(timeout); // a limit that is none is refused here, not at the first run
  const named = names.userDataDir === undefined ? names.user_data_dir : names.userDataDir;
  return {
    timeout,
    workDir: path.resolve(names.workDir ?? names.work_dir ?? DEFAULT_WORK_DIR),
    userDataDir: () => (named === undefined || named === 'ENV' ? userDataDirOf() : (named ?? '')),
    userDataWritable,
    access: { mounts, network, environment },
  };
}

export function limitMs(timeout: number): number {
  if (timeout > 0 && timeout <= MAX_TIMEOUT_S) return Math.ceil(timeout * 1000);
  throw new VivariumError(
    'CONFIG_INVALID',
    `A timeout of ${timeout} seconds is none. Give a number above 0 and up to ${MAX_TIMEOUT_S}.`,
  );
}

/** Read at a door of the library, where the original reads it, and nowhere else. */
function userDataDirOf(environment: NodeJS.ProcessEnv = process.env): string {
  return environment['USER_DATA_DIR'] ?? '';
}
