/**
 * Writes what `import 'vivarium'` and its subpaths load. An older Node cannot parse the library, and Node itself reports a
 * missing optional package without saying what to do, so these small files look first and load the library then.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { NEEDED } from '../src/packages.ts';
import { NODE_CHECK } from './node-check.ts';

const OUTPUT = 'dist/entry';

/** The entry points, and the row of `NEEDED` for those that need optional packages. */
const ENTRIES: Readonly<Record<string, keyof typeof NEEDED | null>> = {
  index: null,
  tools: null,
  agent: 'agent',
  service: 'service',
  server: null,
};

await mkdir(OUTPUT, { recursive: true });
for (const [name, needed] of Object.entries(ENTRIES)) {
  const file = path.resolve('dist/library', `${name}.js`);
  const library = (await import(pathToFileURL(file).href)) as object;
  const { imported, required } = loadersOf(name, Object.keys(library), needed);
  const check = `${NODE_CHECK}\nif (problem) throw new Error(problem);`;
  await writeFile(path.join(OUTPUT, `${name}.js`), `${check}\n${imported}\n`);
  await writeFile(path.join(OUTPUT, `${name}.cjs`), `${check}\n${required}\n`);
}

function loadersOf(name: string, exported: readonly string[], needed: keyof typeof NEEDED | null) {
  const names = exported.join(', ');
  const file = `'../library/${name}.js'`;
  if (needed === null) {
    return {
      imported: `export const { ${names} } = await import(${file});`,
      required: `module.exports = require(${file});`,
    };
  }
  const part = `'vivarium/${name}', NEEDED.${needed}`;
  return {
    imported: `const { loadOptional, NEEDED } = await import('../library/packages.js');
export const { ${names} } = await loadOptional(${part}, () => import(${file}));`,
    required: `const { explainMissing, NEEDED } = require('../library/packages.js');
try {
  module.exports = require(${file});
} catch (error) {
  throw explainMissing(error, ${part});
}`,
  };
}
