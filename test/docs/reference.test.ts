/** The reference of the API, and what an editor shows about an option. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { declarationsIn, type Declaration } from '../../tools/reference/declarations.ts';
import { readReference } from '../../tools/reference/reference.ts';
import * as agent from '../../src/agent.ts';
import * as index from '../../src/index.ts';
import * as service from '../../src/service.ts';
import * as tools from '../../src/tools.ts';
import { Config, ModelConfig, Mount } from '../../src/config.ts';
import { ROOT } from './pages.ts';

const ENTRY_POINTS = { index, tools, agent, service };
/** Types that users fill in. */
const OPTIONS = /(?:Options|Config|Input|Fields|Limits|Access|Arguments|Context|Traits|Mount)$/u;
const reference = readReference();

test('docs/reference is what the types say; `npm run fix` writes it again', () => {
  for (const [file, text] of reference.pages) {
    const found = path.join(ROOT, file);
    expect(existsSync(found) ? readFileSync(found, 'utf8') : '', file).toBe(text);
  }
});

test('every value that can be imported is in the reference, with its declaration', () => {
  for (const [entry, library] of Object.entries(ENTRY_POINTS)) {
    const names = reference.names.get(entry) ?? [];
    const values = names.filter(({ isType }) => !isType).map(({ name }) => name);
    expect(values.toSorted()).toEqual(Object.keys(library).toSorted());
    const undeclared = names.filter(({ declarations }) => declarations.length === 0).map(({ name }) => name);
    expect(undeclared).toEqual([]);
  }
});

test('an editor shows help for every option', () => {
  const checked = optionTypes();
  expect([...checked.keys()]).toEqual(
    expect.arrayContaining(['HostOptions', 'ConfigInput', 'Limits', 'ToolSetOptions']),
  );
  const helpless = [...checked].flatMap(([name, { members }]) =>
    members.filter(({ doc }) => doc === '').map((member) => `${name}.${member.name}`),
  );
  expect(helpless).toEqual([]);
});

test('no type of options is inferred from a schema: that would lose the help', () => {
  const inferred = [...optionTypes()].filter(([, { code }]) => /\bz\.(?:infer|input|output)<typeof/u.test(code));
  expect(inferred.map(([name]) => name)).toEqual([]);
});

test('the types of options have the keys of their schemas', () => {
  const keysOf = (name: string): string[] =>
    (reference.all.get(name) ?? []).flatMap(({ members }) => members.map((member) => member.name));
  expect(keysOf('ConfigInput')).toEqual(Object.keys(Config.shape));
  expect(keysOf('ModelConfigInput')).toEqual(Object.keys(ModelConfig.shape));
  expect(keysOf('MountInput')).toEqual(Object.keys(Mount.shape));
});

test('declarations are read with their comments, members and ends', () => {
  const text = `import type { A } from './a.ts';
/** Opens it. */
export declare function open(options?: { a: string; }): Promise<void>;
export interface Options extends A {
    /** How long. */
    readonly timeoutMs?: number;
    readonly 'odd-name': string;
    run(): void;
}
export type Choice = 'a;b' | {
    /** Where
     * it is. */
    readonly at: string;
};
`;
  expect(declarationsIn(text)).toEqual([
    {
      name: 'open',
      kind: 'function',
      doc: 'Opens it.',
      code: 'function open(options?: { a: string; }): Promise<void>;',
      members: [],
    },
    {
      name: 'Options',
      kind: 'interface',
      doc: '',
      code: `interface Options extends A {
  /** How long. */
  readonly timeoutMs?: number;
  readonly 'odd-name': string;
  run(): void;
}`,
      members: [
        { name: 'timeoutMs', doc: 'How long.' },
        { name: 'odd-name', doc: '' },
        { name: 'run', doc: '' },
      ],
    },
    {
      name: 'Choice',
      kind: 'type',
      doc: '',
      code: `type Choice = 'a;b' | {
  /** Where
   * it is. */
  readonly at: string;
};`,
      members: [{ name: 'at', doc: 'Where\nit is.' }],
    },
  ]);
});

/** Those that users can import, and those that they are made from. */
function optionTypes(): ReadonlyMap<string, Declaration> {
  const found = new Map<string, Declaration>();
  const visit = (declaration: Declaration): void => {
    if (declaration.kind !== 'interface' && declaration.kind !== 'type') return;
    if (found.has(declaration.name)) return;
    found.set(declaration.name, declaration);
    const named = declaration.code.matchAll(/\b[A-Z]\w+\b/gu);
    for (const [name] of named) if (OPTIONS.test(name)) for (const other of reference.all.get(name) ?? []) visit(other);
  };
  for (const names of reference.names.values()) {
    for (const { declarations } of names) {
      for (const declaration of declarations) if (OPTIONS.test(declaration.name)) visit(declaration);
    }
  }
  return found;
}
