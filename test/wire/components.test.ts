/** The JSON Schemas are valid and complete, and describe every field. */
import { expect, test } from 'vitest';
import { componentSchemas } from '../../src/wire/components.ts';
import { checkSchemas, errorsOf, installValidator } from './json-schema.ts';

const schemas = componentSchemas();
type Node = Readonly<Record<string, unknown>>;

/** Every object in the JSON, with its path. */
function* nodes(value: unknown, place = ''): Generator<readonly [string, Node]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [place, value as Node];
  for (const [key, part] of Object.entries(value)) yield* nodes(part, `${place}/${key}`);
}

test('every message has a schema under its name', () => {
  const names = `Execution Outcome Result TranscriptEntry StateReceipt Isolation ProducedFile ProducedFigure
    DataFrameSummary Truncation Spill PythonError Event Summary SessionInfo Variable Completion Rollback Artifact FileList
    Approval ApprovalPayload Decision Error RunOptions KeyOptions SessionOptions OnceOptions HostOptions Limits Mount`;
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining(names.split(/\s+/)));
});

test('they are valid JSON Schema 2020-12', async (context) => {
  const installed = await installValidator();
  if ('problem' in installed) {
    return context.skip(`NOT CHECKED BY PYTHON, whose validator could not be installed: ${installed.problem}`);
  }
  await checkSchemas(installed.python, schemas);
  await expect(checkSchemas(installed.python, { Wrong: { type: 'text' } })).rejects.toThrow(/not valid under any/);
});

test('every reference leads to a component', () => {
  for (const [place, node] of nodes(schemas)) {
    expect(node, place).not.toHaveProperty('$id');
    expect(node, place).not.toHaveProperty('$schema');
    expect(node, place).not.toHaveProperty('$defs');
    if (!('$ref' in node)) continue;
    expect(schemas, place).toHaveProperty([String(node['$ref']).replace('#/components/schemas/', '')]);
  }
});

test('every schema and every field has a description of whole sentences', () => {
  const isSentence = expect.stringMatching(/^[A-Z`].*[.]$/) as unknown;
  for (const [name, schema] of Object.entries(schemas)) expect(schema.description, name).toEqual(isSentence);
  let count = 0;
  for (const [place, { properties }] of nodes(schemas)) {
    if (place.endsWith('/properties')) continue; // a field of that name
    for (const [field, schema] of Object.entries((properties ?? {}) as Record<string, Node>)) {
      expect(schema['description'], `${place}/${field}`).toEqual(isSentence);
      count += 1;
    }
  }
  expect(count).toBeGreaterThan(200);
});

test('examples are valid', () => {
  for (const [name, { examples = [] }] of Object.entries(schemas)) {
    for (const example of examples) expect(errorsOf(name, example), name).toEqual([]);
  }
});

test('unknown keys are allowed in answers only', () => {
  const strict = Object.keys(schemas).filter((name) => schemas[name]?.additionalProperties === false);
  const options = ['HostOptions', 'JupyterChoice', 'KeyOptions', 'Limits', 'Mount', 'OnceOptions', 'RunOptions'];
  const decisions = ['ApproveDecision', 'EditDecision', 'RejectDecision', 'RespondDecision'];
  const others = ['NetworkList', 'Secret', 'SessionOptions', 'TableOptions'];
  expect(strict.toSorted()).toEqual([...decisions, ...options, ...others].toSorted());
});
