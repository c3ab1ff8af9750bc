/** Bundles the command line so that it starts quickly. The library is not bundled. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { rolldown, type Plugin } from 'rolldown';

const OUTPUT = 'dist/bin';

/** A file of its own: an older Node cannot even parse the bundle. */
const LAUNCHER = `#!/usr/bin/env node
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error('vivarium needs Node 24 or later; this is ' + process.version + '.');
  process.exit(1);
}
await import('./main.js');
`;

/** Modules of the command line that are loaded one after the other. */
const STEPS = ['head-start', 'program', 'commands/run'];

/** PostgreSQL is loaded by those who have installed it. */
const external = [/^node:/, 'pg', '@langchain/langgraph-checkpoint-postgres'];
const bundle = await rolldown({ input: 'src/cli/main.ts', platform: 'node', external, plugins: [withoutFacades()] });
// Errors are kept in the database by the names of their classes, which must be the same in the library and here.
// Chunks lie beside the entry: `../../python` must mean the same from all of them as it does from `src/<folder>/`.
await bundle.write({
  dir: OUTPUT,
  format: 'esm',
  minify: true,
  keepNames: true,
  chunkFileNames: '[name]-[hash].js',
  // One file, with all that it needs, for each step on the way to the first run: every file more takes a millisecond.
  codeSplitting: {
    groups: STEPS.map((step, index) => ({
      name: path.basename(step),
      test: new RegExp(`src/cli/${step}\\.ts$`, 'u'),
      priority: STEPS.length - index, // what several need is in the first
    })),
  },
});
await bundle.close();
await writeFile(`${OUTPUT}/vivarium.js`, LAUNCHER, { mode: 0o755 });

/**
 * Takes what is used of Node's own modules instead of importing them. For an import Node reads every property of one, and
 * some (`process.stdin`, `fs.promises`, half of `util`) take milliseconds to make.
 */
function withoutFacades(): Plugin {
  const imports = /import(?:\s*([\w$]+))?,?(?:\s*(\{[^}]*\}))?\s*from\s*"node:([\w/]+)";/gu;
  return {
    name: 'without-facades',
    generateBundle(_, files) {
      for (const file of Object.values(files)) {
        if (file.type !== 'chunk') continue;
        file.code = file.code.replaceAll(imports, (_match, whole?: string, parts?: string, name?: string) => {
          const taken = [whole, parts?.replaceAll(' as ', ':')].filter((target) => target !== undefined);
          const module = `globalThis.process.getBuiltinModule("node:${name}")`;
          return `const ${taken.map((target) => `${target}=${module}`).join(',')};`;
        });
      }
    },
  };
}
