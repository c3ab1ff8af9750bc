/** The reference of the API in docs/reference, from the types and their comments. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { declarationsIn, type Declaration } from './declarations.ts';

const MAX_CONST_LINES = 20;
const ROOT = path.resolve(import.meta.dirname, '../..');

/** One page for each entry point of the package. */
const PAGES = {
  index: ['vivarium', 'Hosts, sessions, executions and their options.'],
  tools: [
    'vivarium/tools',
    'Tools for agents, and their forms for the packages of providers; see [tools](../tools.md).',
  ],
  agent: ['vivarium/agent', 'Agents that call tools; see [agents](../agent.md).'],
  server: ['vivarium/server', 'The HTTP server; see [the server](../server.md).'],
  service: ['vivarium/service', 'The execution service; see [its configuration](../service-config.md).'],
} as const;

export interface PublicName {
  /** As users import it. */
  readonly name: string;
  readonly isType: boolean;
  readonly declarations: readonly Declaration[];
}

export interface Reference {
  /** The text of each page, by its path from the root of the repository. */
  readonly pages: ReadonlyMap<string, string>;
  /** Everything that users can import, by entry point. */
  readonly names: ReadonlyMap<string, readonly PublicName[]>;
  /** Everything that any file exports. No type has the same name as another. */
  readonly all: ReadonlyMap<string, readonly Declaration[]>;
}

/** Has the compiler write the types, and reads them. */
export function readReference(): Reference {
  const directory = mkdtempSync(path.join(tmpdir(), 'vivarium-types-'));
  try {
    const tsc = path.join(ROOT, 'node_modules', '.bin', 'tsc');
    execFileSync(tsc, ['-p', 'tsconfig.build.json', '--outDir', directory], { cwd: ROOT });
    const files = new Map(
      globSync('**/*.d.ts', { cwd: directory }).map((file) => [file, readFileSync(path.join(directory, file), 'utf8')]),
    );
    return referenceOf(files);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** `files` are declaration files by their paths in the package. */
function referenceOf(files: ReadonlyMap<string, string>): Reference {
  const found = [...files].flatMap(([, text]) => declarationsIn(text));
  const declared = new Map([...files].map(([file, text]) => [file, declarationsIn(text)]));
  const names = new Map(
    Object.keys(PAGES).map((entry) => [entry, publicNames(files.get(`${entry}.d.ts`) ?? '', declared)]),
  );
  const pages = new Map(
    Object.entries(PAGES).map(([entry, [title, about]]) => [
      `docs/reference/${entry}.md`,
      pageOf(title, about, names.get(entry) ?? []),
    ]),
  );
  return { pages, names, all: Map.groupBy(found, ({ name }) => name) };
}

function publicNames(entry: string, declared: ReadonlyMap<string, readonly Declaration[]>): PublicName[] {
  const lists = entry.matchAll(/^export (?<type>type )?\{(?<names>[^}]*)\} from '\.\/(?<file>[^']*)\.ts';/gmu);
  return [...lists]
    .flatMap(({ groups }) => {
      const { type, names = '', file = '' } = groups ?? {};
      const own = declared.get(`${file}.d.ts`) ?? [];
      return names
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '')
        .map((item) => {
          const [inside = '', name = inside] = item.split(' as ');
          const declarations = own.filter((declaration) => declaration.name === inside);
          const isType = type !== undefined;
          return { name, isType, declarations: isType ? declarations.filter(isTypeLike) : declarations };
        });
    })
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
}

/** A schema and its type share a name. */
function isTypeLike({ kind }: Declaration): boolean {
  return kind === 'interface' || kind === 'type' || kind === 'class';
}

function pageOf(title: string, about: string, names: readonly PublicName[]): string {
  const values = names.filter(({ isType }) => !isType);
  const types = names.filter(({ isType }) => isType);
  return [
    `# \`${title}\``,
    `${about} This page is made from the types by \`npm run fix\`.`,
    ...(values.length === 0 ? [] : ['## Functions, classes and constants', ...values.map(sectionOf)]),
    ...(types.length === 0 ? [] : ['## Types', ...types.map(sectionOf)]),
  ]
    .join('\n\n')
    .concat('\n');
}

function sectionOf({ name, declarations }: PublicName): string {
  const docs = declarations.map(({ doc }) => doc).filter((doc) => doc !== '');
  const code = declarations.map((declaration) => `\`\`\`typescript\n${shownCode(declaration)}\n\`\`\``);
  return [`### \`${name}\``, ...docs.slice(0, 1), ...code].join('\n\n');
}

/** The type of a long constant is its value once more. */
function shownCode({ kind, code }: Declaration): string {
  const lines = code.split('\n');
  return kind === 'const' && lines.length > MAX_CONST_LINES ? `${lines[0]} … ${lines.at(-1)}` : code;
}
