/** Tells what to do about an import that fails because no environment was set up. */
import type { Environment } from './environment.ts';
import { LIBRARY_SETS, moduleOf, PROMISED_LIBRARIES } from './library-sets.ts';

/** The part of a Python error that is looked at. */
interface ImportFailure {
  readonly name: string;
  readonly value: string;
}

/** Undefined unless the code imported a library that `vivarium setup` installs and this Python lacks. */
export function explainMissingImport(
  error: ImportFailure | undefined,
  environment: Pick<Environment, 'name' | 'python' | 'libraries' | 'missing' | 'source' | 'set'>,
): string | undefined {
  const { name, python, libraries, missing, source, set } = environment;
  if (error?.name !== 'ModuleNotFoundError' || source === 'remote') return undefined;
  const module = /^No module named '(?<name>\w+)/u.exec(error.value)?.groups?.['name'];
  const library = PROMISED_LIBRARIES.find(
    (promised) => moduleOf(promised) === module && libraries[promised] === undefined,
  );
  if (library === undefined) return undefined;
  if (name !== undefined) {
    return `${library} is not in the environment "${name}". \`vivarium environments add NAME ${library} ...\` makes one with it.`;
  }
  if (source === 'managed' && !isIn(set, library)) {
    return `${library} is not in the set "${set}" of this environment. \`vivarium setup --set full\` creates one with it.`;
  }
  return source === 'found'
    ? `${library} is not installed: there is no environment yet, so sessions run on ${python} as it is. \`vivarium setup\` creates one with ${[...new Set([library, ...missing])].join(', ')}.`
    : `${library} is not installed in ${python}. Install it there, or choose no Python and run \`vivarium setup\`, which creates an environment with it.`;
}

function isIn(set: Environment['set'], library: string): boolean {
  return set === undefined || LIBRARY_SETS[set].some((name) => name === library);
}
