import { readPython } from '../../engine/python-files.ts';

/** Modules of the analyzer, each after those that it imports. */
const ANALYZER_MODULES = ['analyze', 'analyze.syntax', 'analyze.scopes', 'analyze.names', 'analyze.report'] as const;

/** A Python module as text, by the name that others import it by. */
export interface ModuleSource {
  readonly name: string;
  readonly source: string;
}

export function readAnalyzer(): Promise<ModuleSource[]> {
  return Promise.all(
    ANALYZER_MODULES.map(async (name) => {
      const file = name === 'analyze' ? 'analyze/__init__.py' : `${name.replace('.', '/')}.py`;
      return { name, source: await readPython(file) };
    }),
  );
}

export function readGuard(): Promise<string> {
  return readPython('readonly_guard.py');
}
