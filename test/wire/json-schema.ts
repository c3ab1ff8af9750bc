/** Validates against the JSON Schemas, with validators other than zod. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { Validator } from '@langchain/core/utils/json_schema';
import { expect } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { choosePython } from '../../src/host/local/python.ts';
import { componentSchemas } from '../../src/wire/components.ts';
import { installBeside, type Installation } from '../../tools/side-environment.ts';

const schemas = componentSchemas();
const validators = new Map<string, Validator>();

/** Fails unless the value fits the component. */
export function expectValid(component: string, json: unknown): void {
  expect(errorsOf(component, json), `${component}: ${JSON.stringify(json)?.slice(0, 2000)}`).toEqual([]);
}

export function errorsOf(component: string, json: unknown): string[] {
  const { errors } = validatorOf(component).validate(json);
  return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

function validatorOf(component: string): Validator {
  const known = validators.get(component);
  if (known !== undefined) return known;
  const validator = new Validator(
    { $ref: `#/components/schemas/${component}`, components: { schemas } },
    '2020-12',
    false,
  );
  validators.set(component, validator);
  return validator;
}

const CHECK = `
import json, sys
from jsonschema import Draft202012Validator
for schema in json.load(sys.stdin).values():
    Draft202012Validator.check_schema(schema)
`;

/** Python's `jsonschema`, which has the meta-schema. It comes with Jupyter's tools. */
export async function installValidator(): Promise<Installation> {
  const config = parseConfig({});
  return installBeside({
    name: 'notebook-tools',
    requirementsFile: path.join(import.meta.dirname, '../support/notebook-requirements.txt'),
    dataDir: config.dataDir,
    sessions: await choosePython(config),
    say: () => {},
  });
}

/** Rejects unless each is a valid JSON Schema 2020-12. */
export async function checkSchemas(python: string, components: unknown): Promise<void> {
  const checking = promisify(execFile)(python, ['-I', '-c', CHECK]);
  checking.child.stdin?.end(JSON.stringify(components));
  await checking;
}
