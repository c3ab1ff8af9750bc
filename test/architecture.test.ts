/** The rules of the house that a machine can check: who may import whom, and what no file may contain. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '..');
const SRC = path.join(ROOT, 'src');
const MAX_LINES = 400;

/** Files that everything may import. They import nothing but each other. */
const OPEN = ['errors.ts', 'config.ts', 'data-dir.ts'];

/** What the package gives to its users: lists of named exports, which nothing inside imports. */
const FACES = ['index.ts', 'agent.ts', 'service.ts', 'tools.ts'];

/** One row per folder: the other folders it may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  execution: [],
  workspace: [],
  engine: ['execution', 'workspace', 'text'],
  host: ['execution', 'workspace', 'engine', 'environment', 'artifact', 'notebook'],
  notebook: ['execution'],
  environment: [],
  artifact: ['execution', 'workspace'],
  text: ['execution'],
  // What doors and remote hosts speak. Of the others it takes shapes and types; none of them imports it.
  wire: ['execution', 'host', 'storage'],
  storage: [],
  model: [],
  tool: ['execution', 'host', 'artifact', 'workspace', 'environment', 'text'],
  agent: ['execution', 'tool', 'model'],
  service: [
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
  cli: ['execution', 'engine', 'host', 'environment', 'text', 'tool', 'agent', 'service', 'storage', 'model'],
};

/** One row per package: the places that may import it. Test files may also import vitest. */
const MAY_USE_PACKAGE: Readonly<Record<string, readonly string[]>> = {
  zod: ['config.ts', 'engine', 'host', 'tool', 'agent', 'service', 'storage', 'wire'],
  commander: ['cli'],
  '@clack/prompts': ['cli'],
  '@langchain/core': ['tool', 'agent', 'service', 'storage', 'model'],
  '@langchain/openai': ['model'],
  '@langchain/langgraph': ['service'],
  '@langchain/langgraph-checkpoint': ['storage'],
  '@langchain/langgraph-checkpoint-postgres': ['storage'],
  '@langchain/langgraph-checkpoint-validation': ['storage'],
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
      const places = MAY_USE_PACKAGE[name] ?? assert.fail(`${show(file)} imports ${name}, which has no row`);
      assert.ok(places.includes(unit), `${show(file)} may not import ${name}`);
    }
  }
});

test('no imports go round in a circle', () => {
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

test('exports are named, and only a face passes on those of others', () => {
  for (const { file, unit, code } of sources) {
    assert.doesNotMatch(code, /^export default\b|\bas default\b/m, `${show(file)} has a default export`);
    assert.doesNotMatch(code, /^export (type )?\*/m, `${show(file)} has an "export *"`);
    if (FACES.includes(unit)) continue;
    assert.doesNotMatch(code, /^export (type )?\{[^}]*\} from\b/m, `${show(file)} re-exports what others export`);
  }
});

test('only the command line prints, exits or installs signal handlers', () => {
  for (const { file, unit, code } of sources) {
    if (unit === 'cli' || isTest(file)) continue;
    assert.doesNotMatch(
      code,
      /\bconsole\.|\bprocess\.(exit|on|once|stdout|stderr)\b/,
      `${show(file)} does what only src/cli may`,
    );
  }
});

// The bundled command line lies in dist/bin: only from one folder deep does a relative URL mean the same there.
test('only files one folder deep look up other files by import.meta', () => {
  for (const { file, code } of sources) {
    if (isTest(file) || path.relative(SRC, file).split(path.sep).length === 2) continue;
    assert.doesNotMatch(code, /\bimport\.meta\b/, `${show(file)} uses import.meta`);
  }
});

test(`no file is longer than ${MAX_LINES} lines`, () => {
  for (const name of globSync(['src/**/*.ts', 'python/**/*.py'], { cwd: ROOT })) {
    const lines = readFileSync(path.join(ROOT, name), 'utf8').trimEnd().split('\n').length;
    assert.ok(lines <= MAX_LINES, `${name} has ${lines} lines`);
  }
});

function allowedFor(unit: string): ReadonlySet<string> {
  if (FACES.includes(unit)) return new Set([unit, ...OPEN, ...Object.keys(MAY_IMPORT)]);
  if (OPEN.includes(unit)) return new Set(OPEN);
  return new Set([unit, ...OPEN, ...(MAY_IMPORT[unit] ?? assert.fail(`src/${unit} has no row in MAY_IMPORT`))]);
}

function parse(file: string): Source {
  const code = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const found = code.matchAll(/(?:^import|\bfrom|\bimport\()\s*(['"])(?<specifier>[^'"]+)\1/gm);
  const specifiers = [...found].map(({ groups }) => groups?.['specifier'] ?? '');
  return {
    file,
    unit: unitOf(file),
    code,
    relativeImports: specifiers.filter((name) => name.startsWith('.')).map((name) => path.resolve(file, '..', name)),
    packages: specifiers.filter((name) => !/^\.|^node:/.test(name)).map(packageOf),
  };
}

/** The first step below src: a folder, or a file there. A unit test belongs to what it tests. */
function unitOf(file: string): string {
  const [first = ''] = path.relative(SRC, file).split(path.sep);
  return first.replace(/\.test\.ts$/, '.ts');
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function isTest(file: string): boolean {
  return file.endsWith('.test.ts');
}

function show(file: string): string {
  return path.relative(ROOT, file);
}
