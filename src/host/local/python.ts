import path from 'node:path';
import type { Config } from '../../config.ts';
import { dataPathsIn, type Environment } from '../../environment/environment.ts';
import { bestPython, findEnvironment } from '../../environment/find.ts';
import { missingFrom } from '../../environment/library-sets.ts';
import { supportedVersions, takeInventory, type PythonInventory } from '../../environment/inventory.ts';
import { VivariumError } from '../../errors.ts';

/** The Python that sessions run on: the named environment, the configured one, otherwise what set-up made, otherwise the best on the machine. */
export async function choosePython(config: Config, signal?: AbortSignal): Promise<Environment> {
  if (config.environment !== undefined) {
    const { findNamed } = await import('../../environment/named/record.ts'); // rarely needed
    return findNamed(config.dataDir, config.environment);
  }
  const recorded = await findEnvironment(config.dataDir);
  if (config.python === undefined) {
    if (recorded !== undefined) return recorded;
    const best = await bestPython({ signal });
    if (best === undefined) throw noPython(config.dataDir);
    return describe(best, 'found', config.dataDir);
  }
  if (recorded?.python === path.resolve(config.python)) return recorded;
  return describe(await takeInventory(config.python, { signal }), 'given', config.dataDir);
}

function describe(inventory: PythonInventory, source: 'given' | 'found', dataDir: string): Environment {
  const { python, version, libraries } = inventory;
  return {
    python,
    version,
    source,
    libraries,
    missing: missingFrom('core', libraries),
    cacheDir: dataPathsIn(dataDir).cacheDir,
  };
}

function noPython(dataDir: string): VivariumError {
  return new VivariumError(
    'PYTHON_NOT_FOUND',
    `No Python environment was set up in ${dataDir}, and this machine has no CPython ${supportedVersions()} to use instead. ` +
      'Run `vivarium setup`, or give the path of a Python with the option `python`.',
  );
}
