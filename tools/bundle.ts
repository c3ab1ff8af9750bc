/** Bundles the command line so that it starts quickly. The library is not bundled. */
import { writeFile } from 'node:fs/promises';
import { rolldown } from 'rolldown';

const OUTPUT = 'dist/bin';

/** A file of its own: an older Node cannot even parse the bundle. */
const LAUNCHER = `#!/usr/bin/env node
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error('vivarium needs Node 24 or later; this is ' + process.version + '.');
  process.exit(1);
}
await import('./main.js');
`;

/** PostgreSQL is loaded by those who have installed it. */
const external = [/^node:/, 'pg', '@langchain/langgraph-checkpoint-postgres'];
const bundle = await rolldown({ input: 'src/cli/main.ts', platform: 'node', external });
// Errors are kept in the database by the names of their classes, which must be the same in the library and here.
// Chunks lie beside the entry: `../../python` must mean the same from all of them as it does from `src/<folder>/`.
await bundle.write({ dir: OUTPUT, format: 'esm', minify: true, keepNames: true, chunkFileNames: '[name]-[hash].js' });
await bundle.close();
await writeFile(`${OUTPUT}/vivarium.js`, LAUNCHER, { mode: 0o755 });
