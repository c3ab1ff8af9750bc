/** The rules of this code base that a machine can check: who may import whom, how large things may be, what no file may contain. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '..');
const SRC = path.join(ROOT, 'src');
const MAX_LINES = 400;
const MAX_FILES = 12;
const MIN_TEST_RATIO = 1;

/** Files and folders that everything may import. They import only each other. */
const OPEN = [
  'errors.ts',
  'config.ts',
  'data-dir.ts',
  'log.ts',
  'network',
  'once.ts',
  'packages.ts',
  'process-life.ts',
  'requirement',
  'spawn.ts',
  'sqlite.ts',
];

/** The entry points of the package: lists of named exports, which nothing inside `src` imports. */
const ENTRY_POINTS = ['index.ts', 'agent.ts', 'server.ts', 'service.ts', 'tools.ts'];

/** One row per folder: the other folders it may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  execution: [],
  workspace: [],
  engine: ['execution', 'workspace', 'text'],
  host: ['execution', 'workspace', 'engine', 'environment', 'artifact', 'notebook', 'text'],
  notebook: ['execution', 'text'],
  environment: [],
  artifact: ['execution', 'workspace'],
  text: ['execution'],
  // What doors and remote hosts speak. It takes shapes and types from these folders; none of them imports it.
  wire: ['execution', 'host', 'storage'],
  // A host on another machine, over HTTP.
  remote: ['execution', 'host', 'wire', 'artifact', 'workspace', 'environment', 'text', 'notebook'],
  server: [
    'execution',
    'host',
    'wire',
    'artifact',
    'workspace',
    'environment',
    'text',
    'notebook',
    'tool',
    'service',
    'storage',
  ],
  // Which host is used: one of this machine, or one on a server.
  'create-host.ts': ['host', 'remote'],
  storage: ['execution'],
  model: [],
  tool: ['create-host.ts', 'execution', 'host', 'artifact', 'workspace', 'environment', 'text'],
  agent: ['execution', 'tool', 'model', 'text'],
  service: [
    'create-host.ts',
    'execution',
    'engine',
    'host',
    'artifact',
    'workspace',
    'environment',
    'text',
    'notebook',
    'storage',
    'model',
  ],
  cli: [
    'create-host.ts',
    'execution',
    'workspace',
    'engine',
    'artifact',
    'host',
    'environment',
    'text',
    'tool',
    'agent',
    'service',
    'storage',
    'model',
    'server',
    'remote',
  ],
};

/** The sub-folders of a folder from the bottom up: each may import those before it. The folder's own files come last. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  service: [
    'api',
    'config',
    'analysis',
    'policy',
    'results',
    'records',
    'generation',
    'execution',
    'approval',
    'capability',
    'graph',
  ],
  storage: ['database', 'audit', 'approvals', 'sqlite', 'postgres'],
};

/** One row per package: the folders that may import it. Test files may also import vitest. */
const MAY_USE_PACKAGE: Readonly<Record<string, readonly string[]>> = {
  zod: ['config.ts', 'engine', 'host', 'tool', 'agent', 'service', 'storage', 'wire', 'server', 'remote'],
  commander: ['cli'],
  '@clack/prompts': ['cli'],
  '@langchain/core': ['tool', 'agent', 'service', 'storage', 'model'],
  '@langchain/openai': ['model'],
  '@langchain/langgraph': ['service'],
  '@langchain/langgraph-checkpoint': ['storage'],
  '@langchain/langgraph-checkpoint-postgres': ['storage'],
  '@langchain/langgraph-checkpoint-validation': ['storage'],
  hono: ['server'],
  '@hono/node-server': ['server'],
  mime: ['artifact'],
  pg: ['storage'],
  yaml: ['service'],
};

type Source = {
  readonly file: string;
  readonly unit: string;
  readonly code: string;
  readonly relativeImports: readonly string[];
  readonly packages: readonly string[];
};

const sources = globSync('**/*.ts', { cwd: SRC }).map((name) => parse(path.join(SRC, name)));

test('every folder imports only what its row allows', () => {
  for (const { file, unit, relativeImports } of sources) {
    const allowed = allowedFor(unit);
    for (const target of relativeImports) {
      assert.ok(allowed.has(unitOf(target)), `${show(file)} may not import ${show(target)}`);
    }
  }
});

test('every relative import names a file inside src, with its extension', () => {
  for (const { file, relativeImports } of sources) {
    for (const target of relativeImports) {
      assert.ok(target.startsWith(SRC + path.sep), `${show(file)} imports ${show(target)}, which is outside src`);
      assert.ok(
        path.extname(target) !== '' && existsSync(target),
        `${show(file)} imports ${show(target)}: no such file`,
      );
    }
  }
});

test('every package is imported only where its row allows', () => {
  for (const { file, unit, packages } of sources) {
    for (const name of packages) {
      if (name === 'vitest' && isTest(file)) continue;
      const folders = MAY_USE_PACKAGE[name] ?? assert.fail(`${show(file)} imports ${name}, which has no row`);
      assert.ok(folders.includes(unit), `${show(file)} may not import ${name}`);
    }
  }
});

test('files do not import each other in a circle', () => {
  const importsOf = new Map(sources.map(({ file, relativeImports }) => [file, relativeImports]));
  const finished = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    const circle = [...trail.slice(trail.indexOf(file)), file].map(show).join(' -> ');
    assert.ok(!trail.includes(file), `circle: ${circle}`);
    if (finished.has(file)) return;
    for (const target of importsOf.get(file) ?? []) visit(target, [...trail, file]);
    finished.add(file);
  };
  for (const { file } of sources) visit(file, []);
});

test('sub-folders import each other in one direction only', () => {
  const folders = globSync('*/**/', { cwd: SRC });
  const cycles = folders.flatMap((folder) => {
    const importsOf = importsBetweenUnits(path.join(SRC, folder));
    const knotted = [...importsOf.keys()].filter((unit) => reachableFrom(unit, importsOf).has(unit));
    return knotted.length === 0 ? [] : [`cycle src/${folder}: ${knotted.join(', ')}`];
  });
  assert.deepEqual(cycles, []);
});

test('the sub-folders in LAYERS import only those below them', () => {
  for (const [folder, layers] of Object.entries(LAYERS)) {
    const importsOf = importsBetweenUnits(path.join(SRC, folder));
    const inOrder = [...layers, '.'];
    assert.deepEqual([...importsOf.keys()].toSorted(), inOrder.toSorted(), `the sub-folders of src/${folder}`);
    for (const [unit, imported] of importsOf) {
      const below = new Set(inOrder.slice(0, inOrder.indexOf(unit)));
      assert.ok(imported.isSubsetOf(below), `src/${folder}/${unit} imports ${[...imported].join(', ')}`);
    }
  }
});

test(`no folder holds more than ${MAX_FILES} source files, entry points aside`, () => {
  const entryPoints = new Set(ENTRY_POINTS.map((name) => `src/${name}`));
  const names = globSync(['src/**/*.ts', 'python/**/*.py'], { cwd: ROOT }).filter(
    (name) => !isTest(name) && !entryPoints.has(name),
  );
  const folders = Map.groupBy(names, (name) => path.dirname(name));
  const crowded = [...folders].filter(([, files]) => files.length > MAX_FILES);
  assert.deepEqual(
    crowded.map(([folder, files]) => `files ${folder}: ${files.length}`),
    [],
  );
});

test('no type is exported under the same name twice', () => {
  const exported = sources
    .filter(({ file, unit }) => !isTest(file) && !ENTRY_POINTS.includes(unit))
    .flatMap(({ file, code }) => typesIn(code).map((name) => ({ name, file })));
  const byName = [...Map.groupBy(exported, ({ name }) => name)];
  const twice = byName.filter(([, found]) => found.length > 1);
  assert.deepEqual(
    twice.map(([name, found]) => `type ${name}: ${found.map(({ file }) => show(file)).join(', ')}`),
    [],
  );
});

test(`there are at least ${MIN_TEST_RATIO} lines of tests for a line of source`, () => {
  const names = globSync(['src/**/*.ts', 'test/**/*.{ts,py}', 'python/**/*.py'], { cwd: ROOT });
  const tests = names.filter((name) => isTest(name));
  const ratio = linesIn(tests) / linesIn(names.filter((name) => !isTest(name)));
  assert.ok(ratio >= MIN_TEST_RATIO, `ratio of tests to source: ${ratio.toFixed(2)}`);
});

test('exports are named, and only an entry point re-exports', () => {
  for (const { file, unit, code } of sources) {
    assert.doesNotMatch(code, /^export default\b|\bas default\b/m, `${show(file)} has a default export`);
    assert.doesNotMatch(code, /^export (type )?\*/m, `${show(file)} has an "export *"`);
    if (ENTRY_POINTS.includes(unit)) continue;
    assert.doesNotMatch(code, /^export (type )?\{[^}]*\} from\b/m, `${show(file)} re-exports what others export`);
  }
});

test('only the command line prints, exits or installs signal handlers', () => {
  for (const { file, unit, code } of sources) {
    if (unit === 'cli' || isTest(file)) continue;
    if (unit === 'process-life.ts') continue; // it closes what is open when the process has nothing left to do
    assert.doesNotMatch(
      code,
      /\bconsole\.|\bprocess\.(exit|on|once|stdout|stderr)\b/,
      `${show(file)} does what only src/cli may`,
    );
  }
});

// The bundled command line is in dist/bin, so a relative URL works there only for files one folder deep.
test('only files one folder deep look up other files by import.meta', () => {
  for (const { file, code } of sources) {
    if (isTest(file) || path.relative(SRC, file).split(path.sep).length === 2) continue;
    assert.doesNotMatch(code, /\bimport\.meta\b/, `${show(file)} uses import.meta`);
  }
});

test(`no file is longer than ${MAX_LINES} lines`, () => {
  for (const name of globSync(['src/**/*.ts', 'python/**/*.py'], { cwd: ROOT })) {
    const lines = linesIn([name]);
    assert.ok(lines <= MAX_LINES, `${name} has ${lines} lines`);
  }
});

function allowedFor(unit: string): ReadonlySet<string> {
  if (ENTRY_POINTS.includes(unit)) return new Set([unit, ...OPEN, ...Object.keys(MAY_IMPORT)]);
  if (OPEN.includes(unit)) return new Set(OPEN);
  return new Set([unit, ...OPEN, ...(MAY_IMPORT[unit] ?? assert.fail(`src/${unit} has no row in MAY_IMPORT`))]);
}

function parse(file: string): Source {
  const code = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const found = code.matchAll(/(?:^import|\bfrom|\bimport\()\s*(['"])(?<specifier>[^'"\s]+)\1/gm);
  const specifiers = [...found].map(({ groups }) => groups?.['specifier'] ?? '');
  return {
    file,
    unit: unitOf(file),
    code,
    relativeImports: specifiers.filter((name) => name.startsWith('.')).map((name) => path.resolve(file, '..', name)),
    packages: specifiers.filter((name) => !/^\.|^node:/.test(name)).map(packageOf),
  };
}

/**
 * Who imports whom among the units of a folder: its sub-folders, and its own files together as `.`. Tests do not count,
 * since they may set up a part from above.
 */
function importsBetweenUnits(folder: string): ReadonlyMap<string, ReadonlySet<string>> {
  const unitIn = (file: string): string | undefined => {
    const steps = path.relative(folder, file).split(path.sep);
    if (steps[0] === '..') return undefined;
    return steps.length === 1 ? '.' : steps[0];
  };
  const importsOf = new Map<string, Set<string>>();
  for (const { file, relativeImports } of sources) {
    const from = unitIn(file);
    if (from === undefined || isTest(file)) continue;
    const imported = importsOf.get(from) ?? new Set();
    importsOf.set(from, imported);
    for (const to of relativeImports.map(unitIn)) if (to !== undefined && to !== from) imported.add(to);
  }
  return importsOf;
}

function reachableFrom(start: string, importsOf: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const reached = new Set<string>();
  const visit = (unit: string): void => {
    for (const next of importsOf.get(unit) ?? []) {
      if (reached.has(next)) continue;
      reached.add(next);
      visit(next);
    }
  };
  visit(start);
  return reached;
}

/** A schema and its type may share a name within a file. */
function typesIn(code: string): string[] {
  const found = code.matchAll(/^export (?:declare )?(?:abstract )?(?:interface|type|class) (?<name>\w+)/gm);
  return [...new Set(Array.from(found, ({ groups }) => groups?.['name'] ?? ''))];
}

function linesIn(names: readonly string[]): number {
  return names.reduce(
    (lines, name) => lines + readFileSync(path.join(ROOT, name), 'utf8').trimEnd().split('\n').length,
    0,
  );
}

/** The first step below src: a folder or a file. A unit test belongs to what it tests. */
function unitOf(file: string): string {
  const [first = ''] = path.relative(SRC, file).split(path.sep);
  return first.replace(/\.test\.ts$/, '.ts');
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/** `file` is absolute, or seen from the root of the repository. */
function isTest(file: string): boolean {
  const name = path.relative(ROOT, path.resolve(ROOT, file));
  return name.endsWith('.test.ts') || /^(?:test|python\/tests)\//.test(name);
}

function show(file: string): string {
  return path.relative(ROOT, file);
}
