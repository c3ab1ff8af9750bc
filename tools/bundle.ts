/**
 * Bundles the command line with everything that it needs, so that it starts quickly, and the library without the packages
 * that its users share with it. Small files are large on a disk: bundled, the library takes half the space, and zod a
 * twentieth.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { rolldown, type Plugin } from 'rolldown';
import { NODE_CHECK } from './node-check.ts';

const OUTPUT = 'dist/bin';
const LIBRARY = 'dist/library';
const ENTRIES = ['index', 'tools', 'agent', 'service', 'server', 'packages'];

/** A file of its own, because an older Node cannot parse the bundle. */
const LAUNCHER = `#!/usr/bin/env node
${NODE_CHECK}
if (problem) {
  console.error(problem);
  process.exit(1);
}
await import('./main.js');
`;

/** Modules that `vivarium run` loads one after the other. Each becomes one file, with everything it needs. */
const STEPS = ['cli/head-start', 'cli/program', 'cli/commands/run', 'host/local/local-host'];

const bundle = await rolldown({
  input: 'src/cli/main.ts',
  platform: 'node',
  external: ['pg', '@langchain/langgraph-checkpoint-postgres'], // users install PostgreSQL if they want it
  plugins: [builtinProperties()],
  treeshake: { propertyReadSideEffects: false }, // unused properties of built-in modules are not read
});
// `keepNames`: the database stores errors by the names of their classes, which must be those of the library.
// All files are in one folder, so that `../../python` means the same in each as it does in `src/<folder>/`.
await bundle.write({
  dir: OUTPUT,
  format: 'esm',
  minify: true,
  keepNames: true,
  chunkFileNames: '[name]-[hash].js',
  // Every file to load takes about a millisecond.
  codeSplitting: {
    groups: STEPS.map((step, index) => ({
      name: path.basename(step),
      test: new RegExp(`src/${step}\\.ts$`, 'u'),
      priority: STEPS.length - index, // what several steps need is in the first of them
    })),
  },
});
await bundle.close();
await bundleLibrary();
await writeFile(`${OUTPUT}/vivarium.js`, LAUNCHER, { mode: 0o755 });

/** Not minified: its users read its stack traces. Comments are in the types. */
async function bundleLibrary(): Promise<void> {
  const library = await rolldown({
    input: Object.fromEntries(ENTRIES.map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    external: ['pg', /^@langchain\//u], // their classes must be those of the user
  });
  // In one folder as well, for the same reason.
  await library.write({
    dir: LIBRARY,
    format: 'esm',
    keepNames: true,
    comments: false,
    chunkFileNames: '[name]-[hash].js',
  });
  await library.close();
}

/**
 * Replaces an import of a built-in module by reads of the properties that are used. To import one, Node reads all of its
 * properties, and some of them (`process.stdin`, `fs.promises`, half of `util`) take milliseconds to create.
 */
function builtinProperties(): Plugin {
  const prefix = '\0builtin:';
  return {
    name: 'builtin-properties',
    resolveId(source, importer, { kind }) {
      if (kind !== 'import-statement' || !source.startsWith('node:')) return null;
      // One for each importer: a file reads only what its own modules use.
      return { id: `${prefix}${source}?${importer}`, moduleSideEffects: false };
    },
    load(id) {
      if (!id.startsWith(prefix)) return null;
      const name = id.slice(prefix.length, id.indexOf('?'));
      const properties = Object.keys(process.getBuiltinModule(name) ?? {}).filter((key) => key !== 'default');
      return [
        `const builtin = globalThis.process.getBuiltinModule(${JSON.stringify(name)});`,
        'export { builtin as default };',
        ...properties.map((key) => `const _${key} = builtin.${key}; export { _${key} as ${key} };`),
      ].join('\n');
    },
  };
}
