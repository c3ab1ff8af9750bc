import { parseConfig } from '../../config.ts';
import { setupEnvironment } from '../../environment/setup.ts';
import type { Context } from '../terminal/context.ts';
import { configOf, type MachineFlags } from '../session/flags.ts';

/** Creates the Python environment. Prints nothing if it already exists. */
export async function setup(flags: MachineFlags, context: Context): Promise<number> {
  const { environment, stderr, lifetime } = context;
  const config = parseConfig(configOf(flags, environment), environment);
  const startedAt = Date.now();
  let hasReported = false;
  const made = await setupEnvironment({
    dataDir: config.dataDir,
    python: config.python,
    env: environment,
    signal: lifetime.signal,
    onProgress: (line) => {
      hasReported = true;
      void stderr.line(line);
    },
  });
  if (hasReported) {
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    await stderr.line(`Python ${made.version} is ready after ${seconds} s: ${made.python}`);
  }
  return 0;
}
