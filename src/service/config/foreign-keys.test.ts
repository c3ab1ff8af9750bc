import { expect, test } from 'vitest';
import { loadConfiguration } from './load.ts';
import { withoutEmptyKeys, withoutForeign } from './foreign-keys.ts';

test.for([
  ['execution_control.limits.max_reclassifications', 'no classification or planning'],
  ['execution_control.limits.max_planning_attempts', 'no classification or planning'],
  ['execution_control.limits.max_step_retries', 'framework.python_executor.max_execution_retries'],
  ['execution_control.limits.max_execution_time_seconds', 'framework.python_executor.execution_timeout_seconds'],
  ['approval.capabilities.memory', 'no memory'],
  ['container_runtime', 'starts no containers'],
  ['services', 'framework.execution.container'],
  ['langgraph.use_postgres', 'langgraph.storage_url'],
] as const)('%s is removed, and told with what to do', ([name, advice]) => {
  const steps = name.split('.');
  const content = steps.reduceRight<unknown>((inner, step) => ({ [step]: inner, other: 1 }), { any: 'value' });
  const told: [string, string][] = [];
  const own = withoutForeign(content, (key, text) => told.push([key, text]));
  expect(told).toEqual([[name, expect.stringContaining(advice)]]);
  expect(JSON.stringify(own)).not.toContain(`"${steps.at(-1)}"`);
  expect(JSON.stringify(content)).toContain(`"${steps.at(-1)}"`); // the given content is not changed
});

test('keys of the same name elsewhere, and sections of another form, are left alone', () => {
  const content = {
    memory: 1,
    framework: { services: 2 },
    langgraph: 'use_postgres',
    execution_control: [{ limits: { max_step_retries: 3 } }],
    approval: { capabilities: null },
  };
  expect(withoutForeign(content, (key) => expect.fail(key))).toEqual(content);
  expect(withoutForeign(undefined, (key) => expect.fail(key))).toBeUndefined();
});

test('a warning names the line, the file and the key, and is a Node warning unless somebody listens', async () => {
  const text = 'approval: {}\n\ncontainer_runtime: docker\n';
  const warnings: string[] = [];
  await loadConfiguration({ text, environment: {}, onWarning: (said) => warnings.push(said) });
  expect(warnings).toEqual([
    'line 3 of config.yml: container_runtime: the service starts no containers, so the key has no effect.',
  ]);
  const emitted = new Promise<Error>((resolve) => process.once('warning', resolve));
  await loadConfiguration({ text, environment: {} });
  expect(await emitted).toMatchObject({ name: 'VivariumWarning', code: 'CONFIG_FOREIGN', message: warnings[0] });
});

test('keys without a value are removed at any depth, other empty values are kept', () => {
  const content = { a: null, b: { c: null, d: [null, { e: null, f: 0 }] }, g: '', h: false, i: {} };
  expect(withoutEmptyKeys(content)).toEqual({ b: { d: [null, { f: 0 }] }, g: '', h: false, i: {} });
});

test('settings of generators are passed on as they are, with their empty keys', () => {
  const generators = { mock: { code: null, nested: { x: null } } };
  expect(withoutEmptyKeys({ generators, other: null })).toEqual({ generators });
});
