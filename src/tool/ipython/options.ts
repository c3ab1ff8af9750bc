import { z } from 'zod';
import { parse } from '../../config.ts';
import { VivariumError } from '../../errors.ts';
import type { Host } from '../../host/host.ts';
import { accessShape, type AccessOptions, type GivenAccess } from '../access.ts';
import { withoutLinks } from '../../workspace/place.ts';
import type { ActionOptions } from '../action/actions.ts';
import type { ActionDescription } from '../action/contract.ts';
import { DEFAULT_WORK_DIR } from './output.ts';

/** The options of `IPythonInterpreter`. */
export interface IPythonOptions extends Omit<ActionOptions, 'description'>, AccessOptions {
  /** Replaces parts of the action's own description, or all of it. */
  readonly description?: Partial<ActionDescription> | null | undefined;
  /** Longest run, in seconds. */
  readonly timeout?: number;
  /** A directory of the machine that the code starts in; `ENV` takes it from `USER_DATA_DIR`. */
  readonly userDataDir?: string | null;
  /** Another name of `userDataDir`. */
  readonly user_data_dir?: string | null;
  /** Where figures are written. */
  readonly workDir?: string;
  /** Another name of `workDir`. */
  readonly work_dir?: string;
  /** Whether the code may write to the user data directory; true by default. */
  readonly userDataWritable?: boolean;
  /** Shared with others and not closed here; without it the action starts its own. */
  readonly host?: Host | null;
}

const MAX_TIMEOUT_S = 24 * 3600;

const Options = z.strictObject({
  timeout: z.number().default(20),
  userDataDir: z.string().nullish(),
  user_data_dir: z.string().nullish(),
  workDir: z.string().optional(),
  work_dir: z.string().optional(),
  userDataWritable: z.boolean().default(true),
  ...accessShape,
});

/** The options with all defaults filled in. */
export interface IPythonSettings {
  readonly timeout: number;
  /** Absolute, without the links that were on it when it was given. */
  readonly workDir: string;
  /** Empty for none. Read for each session, as the environment variable may change. */
  readonly userDataDir: () => string;
  readonly userDataWritable: boolean;
  readonly access: GivenAccess;
}

export function parseIPython(given: IPythonOptions): IPythonSettings {
  const { host: _, description: __, parser: ___, enable: ____, ...options } = given;
  const { timeout, userDataWritable, mounts, network, env, ...names } = parse(Options, options);
  limitMs(timeout); // an invalid limit fails here, not at the first run
  const named = names.userDataDir === undefined ? names.user_data_dir : names.userDataDir;
  return {
    timeout,
    workDir: withoutLinks(names.workDir ?? names.work_dir ?? DEFAULT_WORK_DIR),
    userDataDir: () => (named === undefined || named === 'ENV' ? userDataDirOf() : (named ?? '')),
    userDataWritable,
    access: { mounts, network, env },
  };
}

export function limitMs(timeout: number): number {
  if (timeout > 0 && timeout <= MAX_TIMEOUT_S) return Math.ceil(timeout * 1000);
  throw new VivariumError(
    'CONFIG_INVALID',
    `The timeout of ${timeout} seconds is invalid. Give a number above 0 and up to ${MAX_TIMEOUT_S}.`,
  );
}

/** The one place that reads this variable, which users of the action rely on. */
function userDataDirOf(environment: NodeJS.ProcessEnv = process.env): string {
  return environment['USER_DATA_DIR'] ?? '';
}
