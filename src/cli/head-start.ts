import { defaultDataDir } from '../data-dir.ts';
import { spawnZygote, type ZygoteProcess } from '../engine/local/zygote/process.ts';
import { isEnvironment, dataPathsIn, readJson } from '../environment/environment.ts';

/** Commands that need a Python as soon as it can be had. */
const HURRIED = new Set(['run', 'repl']);

/**
 * Starts the Python that the command will most likely want, while Node still loads what reads the command. Undefined where
 * another one, or none, may be wanted. What is not used after all is ended with the process.
 */
export function startAhead(args: readonly string[], environment: NodeJS.ProcessEnv): ZygoteProcess | undefined {
  const [command = ''] = args;
  const isUsual = !args.some((arg) => /^(-h|--help|--python|--data-dir)/.test(arg)) && !environment['VIVARIUM_PYTHON'];
  if (!HURRIED.has(command) || !isUsual) return undefined;
  const found = readJson(dataPathsIn(defaultDataDir(environment)).record, isEnvironment);
  if (found === undefined) return undefined;
  return spawnZygote(found.python, found.cacheDir);
}
