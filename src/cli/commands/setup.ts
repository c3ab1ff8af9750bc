import { parseConfig } from '../../config.ts';
import { setupEnvironment } from '../../environment/setup.ts';
import type { Context } from '../terminal/context.ts';
import type { LibrarySet } from '../../environment/library-sets.ts';
import { configOf, type MachineFlags } from '../session/flags.ts';

export interface SetupFlags extends MachineFlags {
  readonly set?: LibrarySet;
  /** Seconds that the package index may take. */
  readonly wait?: number;
}

/**
 * Creates the Python environment. Prints nothing if it already exists. Fails if only a Python of the machine can be
 * used, unless `--wait` says that what is there will do.
 */
export async function setup(flags: SetupFlags, context: Context): Promise<number> {
  const { environment, stderr, lifetime } = context;
  const config = parseConfig(configOf(flags, environment), environment);
  const startedAt = Date.now();
  let hasReported = false;
  const made = await setupEnvironment({
    dataDir: config.dataDir,
    python: config.python,
    set: flags.set,
    waitMs: flags.wait === undefined ? undefined : flags.wait * 1000,
    env: environment,
    signal: lifetime.signal,
    onProgress: (line) => {
      hasReported = true;
      void stderr.line(line);
    },
  });
  if (made.source === 'found' && flags.wait === undefined) {
    await stderr.line(`${stderr.style('red', 'error:')} no environment was created; see above for the reason`);
    await stderr.line(
      `hint: repair that and run \`vivarium setup\` again, or accept this Python as it is: vivarium setup --python ${made.python}`,
    );
    return 1;
  }
  if (hasReported) {
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    await stderr.line(`Python ${made.version} is ready after ${seconds} s: ${made.python}`);
  }
  return 0;
}
