import { defaultDataDir } from '../data-dir.ts';
import { spawnZygote, type ZygoteProcess } from '../engine/local/zygote/process.ts';
import { isEnvironment, dataPathsIn, readJson } from '../environment/environment.ts';

/** Commands that are slower without a head start. */
const HURRIED = new Set(['run', 'exec', 'repl']);

/**
 * Starts the Python that the command will most likely use while Node still loads the code that parses the command line.
 * Undefined if the command may need another Python or none. A process that is not used is ended with this one.
 */
export function startAhead(args: readonly string[], environment: NodeJS.ProcessEnv): ZygoteProcess | undefined {
  const [command = ''] = args;
  const isLikely =
    !args.some((arg) => /^(-h|--help|--python|--environment|--data-dir|--url)/.test(arg)) &&
    !environment['VIVARIUM_PYTHON'] &&
    !environment['VIVARIUM_URL'];
  if (!HURRIED.has(command) || !isLikely) return undefined;
  const found = readJson(dataPathsIn(defaultDataDir(environment)).record, isEnvironment);
  if (found === undefined) return undefined;
  return spawnZygote(found.python, found.cacheDir);
}
