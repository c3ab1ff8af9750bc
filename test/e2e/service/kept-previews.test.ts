/** The kept run of a preview is part of what is approved: nothing else is committed in its place. */
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { sha256Of } from '../../../src/storage/approvals/approval.ts';
import { Laboratory, question, REQUEST, thread, type Service } from './laboratory.ts';

const laboratory = new Laboratory();

const ALL_CODE = { approval: { capabilities: { python_execution: { mode: 'all_code' } } } };
const CODE = 'results = {"answer": 42}';
const APPROVE = new Command({ resume: { approved: true } });

/** Asks about the code, and returns the path of the kept preview of an attempt. */
async function asked({ service }: Service, attempt = '01'): Promise<string> {
  const { payload } = question(await service.run(REQUEST, thread('t')));
  const { resume_payload: shown } = payload as { readonly resume_payload: { readonly execution_folder_path: string } };
  return path.join(shown.execution_folder_path, `.preview_${attempt}.json`);
}

const forged = (kept: string): string => kept.replaceAll('42', '666');

const CHANGES: Readonly<Record<string, (file: string) => void>> = {
  changed: (file) => writeFileSync(file, forged(readFileSync(file, 'utf8'))),
  missing: (file) => rmSync(file),
  emptied: (file) => writeFileSync(file, ''),
  'changed by a space': (file) => writeFileSync(file, `${readFileSync(file, 'utf8')} `),
  'replaced by a link': (file) => {
    writeFileSync(`${file}.other`, readFileSync(file));
    rmSync(file);
    symlinkSync(`${file}.other`, file);
  },
  'replaced by a directory listing': (file) => writeFileSync(file, JSON.stringify(readdirSync(path.dirname(file)))),
};

test.for(Object.keys(CHANGES))('a kept preview that is %s is not approved, and nothing is decided', async (how) => {
  await using lab = await laboratory.start({ config: ALL_CODE, code: CODE });
  CHANGES[how]?.(await asked(lab));
  const [pending] = await lab.service.approvals.list({ status: 'pending' });
  await expect(lab.service.invoke(APPROVE, thread('t'))).rejects.toMatchObject({
    name: 'ServiceConfigurationError',
    message: expect.stringContaining('Nothing was decided') as string,
  });
  expect((await lab.service.approvals.get(pending?.id ?? '')).status).toBe('pending');
  await expect(lab.service.decide(pending?.id ?? '', { type: 'reject' }, { by: 'Ann' })).rejects.toMatchObject({
    name: 'ExecutionRejectedError',
  });
});

test('the preview of another request is not committed in its place', async () => {
  const code = 'import time\nresults = {"answer": time.time_ns() % 1000}';
  await using lab = await laboratory.start({ config: ALL_CODE, code });
  const other = await asked(lab);
  await expect(lab.service.invoke(new Command({ resume: 'no' }), thread('t'))).rejects.toThrow('rejected');
  writeFileSync(await asked(lab), readFileSync(other));
  await expect(lab.service.invoke(APPROVE, thread('t'))).rejects.toThrow('Nothing was decided');
});

test('a file that was put where no preview was kept is not taken for one', async () => {
  await using lab = await laboratory.start({ config: ALL_CODE, code: CODE });
  const file = await asked(lab);
  const code = 'results = {"answer": 7}';
  const kept = { ...(JSON.parse(readFileSync(file, 'utf8')) as object), codeSha256: sha256Of(code) };
  writeFileSync(file.replace('.preview_01', '.preview_02'), forged(JSON.stringify(kept)));
  const edit = new Command({ resume: { type: 'edit', code } });
  expect((await lab.service.invoke(edit, thread('t'))).executionResult.results).toEqual({ answer: 7 });
});

test('a file that was put beside code without a preview is not taken for one', async () => {
  const config = { approval: { capabilities: { python_execution: { mode: 'all_code', preview: false } } } };
  await using kept = await laboratory.start({ config: ALL_CODE, code: CODE });
  const run = readFileSync(await asked(kept), 'utf8');
  await using lab = await laboratory.start({ config, code: CODE });
  writeFileSync(await asked(lab), forged(run));
  expect((await lab.service.invoke(APPROVE, thread('t'))).executionResult.results).toEqual({ answer: 42 });
});

test('the hash of the kept run is part of what the reviewer is shown', async () => {
  await using lab = await laboratory.start({ config: ALL_CODE, code: CODE });
  const file = await asked(lab);
  const [pending] = await lab.service.approvals.list({ status: 'pending' });
  const { user_message: message, resume_payload: shown } = (pending?.payload ?? {}) as {
    readonly user_message: string;
    readonly resume_payload: Readonly<Record<string, unknown>>;
  };
  const hash = sha256Of(readFileSync(file, 'utf8'));
  expect(shown['preview_sha256']).toBe(hash);
  expect(message).toContain(hash.slice(0, 12));
  const answer = { approved: true, preview_sha256: 'ab'.repeat(32) };
  await expect(lab.service.invoke(new Command({ resume: answer }), thread('t'))).rejects.toThrow('another run');
});
