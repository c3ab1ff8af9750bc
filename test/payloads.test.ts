/** Code that is sent into sessions as text runs in a Python that has nothing of ours, not even site packages. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseConfig } from '../src/config.ts';
import { readAnalysis, readPayload } from '../src/engine/python-files.ts';
import { choosePython } from '../src/host/local/python.ts';
import { contextAssignment } from '../src/host/local/run/variables.ts';
import { contextCell } from '../src/notebook/context-cell.ts';
import { analysisProgram } from '../src/service/analysis/examine.ts';
import { loadConfiguration } from '../src/service/config/load.ts';
import { effectsListener } from '../src/service/execution/session-executor.ts';
import { readOnlyNotice } from '../src/service/execution/read-only-notice.ts';
import { parseTypes, typesProbe, TYPES_VARIABLE } from '../src/service/results/actual-type.ts';

const run = promisify(execFile);
let python = '';
let directory = '';
beforeAll(async () => {
  python = (await choosePython(parseConfig({}))).python;
  directory = mkdtempSync(path.join(tmpdir(), 'payloads-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What a bare interpreter prints. `-I` and `-S` leave nothing on its path but the standard library. */
async function printed(...lines: readonly string[]): Promise<string> {
  const { stdout } = await run(python, ['-I', '-S', '-B', '-c', lines.join('\n')], { cwd: directory });
  return stdout;
}

test('the context is read by dots', async () => {
  const payload = await contextAssignment({ SENSOR: { roof: { value: 21 } } });
  expect(await printed(payload, 'print(context.SENSOR.roof.value)')).toBe('21\n');
});

test('the context cell of a notebook needs nothing else', async () => {
  const { source } = contextCell('context', { loader: await readPayload('context'), path: 'context.json' });
  const text = typeof source === 'string' ? source : [...source].join('');
  const file = 'open(\'context.json\', \'w\').write(\'{"SENSOR": {"roof": {"value": 21}}}\')';
  expect(await printed(file, text, 'print(context.SENSOR.roof.value)')).toBe('21\n');
});

test('the types of results are told', async () => {
  const probe = typesProbe(await readPayload('result_types'), ['pair']);
  const answer = await printed('results = {"pair": (1, 2)}', probe, `print(${TYPES_VARIABLE})`);
  expect(parseTypes(answer)?.names['pair']).toMatchObject({ type: 'tuple', items: [{ type: 'int' }] });
});

test('the effects of a program are noted', async () => {
  const program = 'import subprocess\nsubprocess.run(["true"])\nprint(_vivarium_effects()["attempts"][0]["kind"])';
  expect(await printed(await effectsListener(), program)).toBe('process\n');
});

test('the read-only notice refuses', async () => {
  const guard = await readOnlyNotice(await loadConfiguration({ text: 'approval: {}', environment: {} }));
  const program = `import os
try:
    os.system('true')
except PermissionError as error:
    print(type(error).__name__)`;
  expect(await printed(guard, program)).toBe('WriteRefused\n');
});

test('code is analyzed', async () => {
  const program = analysisProgram(await readAnalysis());
  const report: unknown = JSON.parse(await printed(program, 'print(report("import os\\nresults = {}"))'));
  expect(report).toMatchObject({ imports: [{ name: 'os' }], results: 'dict', syntax: [] });
});
