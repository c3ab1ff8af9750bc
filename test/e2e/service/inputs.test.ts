/** What a request and a decision are tied to: the record, the pending approval, and the input files. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { startPythonExecutor } from '../../../src/service/start.ts';
import { EPICS, Laboratory, question, REQUEST, thread, WRITES } from './laboratory.ts';

const laboratory = new Laboratory();
const CONFIG = thread('t');
const WRITE_CODE = `${EPICS}from epics import caput\ncaput('magnet', 1)\nresults = {'answer': 1}`;

test('who decides about an old question does not approve the code of the new one', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: [WRITE_CODE, `${WRITE_CODE}\n# other`] });
  const { service } = lab;
  const old = question(await service.run(REQUEST, CONFIG)).id;
  const answer = { type: 'respond', text: 'Do it otherwise.' };
  const present = question(await service.decide(old, answer, { by: 'reviewer' })).id;
  await expect(service.decide(old, { type: 'approve' }, { by: 'reviewer' })).rejects.toMatchObject({
    code: 'APPROVAL_DECIDED',
  });
  expect((await service.approvals.get(present)).status).toBe('pending');
});

test('a service that does not find the record decides nothing', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: WRITE_CODE });
  const { service, baseDir } = lab;
  const { id } = question(await service.run(REQUEST, CONFIG));
  await using elsewhere = await startPythonExecutor({
    config: service.configuration,
    dataDir: path.join(baseDir, 'data'),
    baseDir: laboratory.fresh(),
    host: laboratory.host,
  });
  await expect(elsewhere.decide(id, { type: 'approve' }, { by: 'reviewer' })).rejects.toMatchObject({
    name: 'ServiceConfigurationError',
  });
  expect((await service.approvals.get(id)).status).toBe('pending');
  await service.decide(id, { type: 'approve' }, { by: 'reviewer' });
});

test('files that come with a request are there for the code, as they were when it began', async () => {
  await using lab = await laboratory.start({ code: 'results = {"answer": len(open("table.csv").read())}' });
  const { service, baseDir } = lab;
  const file = path.join(baseDir, 'source.csv');
  writeFileSync(file, 'a,b\n1,2\n');
  const { executionResult } = await service.invoke(REQUEST, { ...CONFIG, files: { 'table.csv': file } });
  expect(executionResult.results).toEqual({ answer: 8 });
  expect(readFileSync(path.join(executionResult.folderPath, 'inputs', 'table.csv'), 'utf8')).toBe('a,b\n1,2\n');
  for (const files of [{ '../table.csv': file }, { 'table.csv': baseDir }, { 'table.csv': `${file}.missing` }]) {
    await expect(service.run(REQUEST, { ...CONFIG, files })).rejects.toMatchObject({
      name: 'ServiceConfigurationError',
    });
  }
});

test('a file that was changed after it was shown to a reviewer is not used', async () => {
  const code = `${WRITE_CODE}\nopen("table.csv").read()\nimport socket\nsocket.socket().connect_ex(("127.0.0.1", 9))`;
  await using lab = await laboratory.start({ config: WRITES, code });
  const { service, baseDir } = lab;
  const file = path.join(baseDir, 'source.csv');
  writeFileSync(file, 'a,b\n1,2\n');
  const waiting = await service.run(REQUEST, { ...CONFIG, files: { 'table.csv': file } });
  const { resume_payload: shown } = question(waiting).payload as {
    resume_payload: { execution_folder_path: string; input_files: unknown; effects: unknown };
  };
  expect(shown.input_files).toMatchObject([{ name: 'table.csv', size_bytes: 8 }]);
  expect(shown.effects).toMatchObject({ isComplete: false });
  writeFileSync(path.join(shown.execution_folder_path, 'inputs', 'table.csv'), 'a,b\n9,9\n');
  await expect(service.invoke(new Command({ resume: true }), CONFIG)).rejects.toThrow(
    /table\.csv in the record is not the one/,
  );
});
