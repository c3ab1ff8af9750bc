import { explainMissingImport } from '../../environment/missing.ts';
import type { Environment } from '../../environment/environment.ts';
import type { PythonError } from '../../execution/outcome.ts';

/** Warns the program once, at the first import that fails because no environment was set up. */
export function warnAtImport(): (error: PythonError, environment: Environment) => void {
  let hasWarned = false;
  return (error, environment) => {
    const text = hasWarned ? undefined : explainMissingImport(error, environment);
    if (text === undefined) return;
    hasWarned = true;
    process.emitWarning(text, { type: 'VivariumWarning', code: 'VIVARIUM_LIBRARY_MISSING' });
  };
}
