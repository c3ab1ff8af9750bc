/** Settings that the tests of the service share with the processes that they start. */

/** Sections of config.yml. */
export type Sections = Readonly<Record<string, unknown>>;

/** Settings that let approved code write. */
export const WRITES = { execution_control: { epics: { writes_enabled: true } } } as const;

/** A stand-in for a control system library. Its writes print. */
export const EPICS = `import sys, types
sys.modules['epics'] = types.ModuleType('epics')
sys.modules['epics'].caput = lambda name, value: print('wrote', name, value)
from epics import caput as _w
`;

export const REQUEST = {
  user_query: 'What is the answer?',
  task_objective: 'Find the answer',
  expected_results: { answer: 'int' },
  execution_folder_name: 'answer',
} as const;

export function thread(id: string): { readonly configurable: Readonly<Record<string, string>> } {
  return { configurable: { thread_id: id, checkpoint_ns: 'python_executor' } };
}

/** The configuration as JSON, which is valid YAML. Sections override the usual ones, key by key. */
export function configured(sections: Sections): Sections {
  return merge(
    {
      framework: { execution: { code_generator: 'scripted' } },
      approval: { global_mode: 'selective', capabilities: { python_execution: { mode: 'epics_writes' } } },
    },
    sections,
  );
}

function merge(below: Sections, above: Sections): Sections {
  const merged = Object.entries(above).map(([key, value]) => {
    const under = below[key];
    return [key, isSection(under) && isSection(value) ? merge(under, value) : value];
  });
  return { ...below, ...(Object.fromEntries(merged) as Sections) };
}

function isSection(value: unknown): value is Sections {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
