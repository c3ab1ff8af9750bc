/** What reviewers can decide, and the effect of each decision. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { EPICS, Laboratory, question, REQUEST, thread, WRITES } from './laboratory.ts';

const laboratory = new Laboratory();

const writing = (answer: number): string => `${EPICS}_w('magnet', ${answer})\nresults = {'answer': ${answer}}`;
const answered = (resume: unknown): Command => new Command({ resume });

test('O-37 X-16 edited code has a hash and an analysis of its own, and runs without being asked about again', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(1) });
  const { id, codeSha256 } = question(await lab.service.run(REQUEST, thread('t')));
  const code = 'results = {"answer": 5}';
  const { executionResult, generatedCode, generationAttempt } = await lab.service.invoke(
    answered({ type: 'edit', code, reason: 'no need to write' }),
    thread('t'),
  );
  expect([executionResult.results, generatedCode, generationAttempt]).toEqual([{ answer: 5 }, code, 2]);
  const { decision, status, run } = await lab.service.approvals.get(id);
  expect([status, run?.status, decision?.codeSha256 === codeSha256]).toEqual(['edited', 'finished', false]);
  // The edited code does not write, so it ran in the other mode.
  expect(readdirSync(path.join(executionResult.folderPath, 'attempts')).map(stageOf)).toEqual([
    '01_awaiting_approval',
    '02_succeeded',
  ]);
});

test('an edit that the policy forbids is refused', async () => {
  const config = { execution_control: { epics: { writes_enabled: false } }, approval: ALL_CODE };
  await using lab = await laboratory.start({ config });
  await lab.service.run(REQUEST, thread('t'));
  await expect(lab.service.invoke(answered({ type: 'edit', code: writing(2) }), thread('t'))).rejects.toMatchObject({
    name: 'PolicyRefusedError',
    reasons: expect.arrayContaining(['EPICS writes blocked by configuration']) as unknown,
  });
});

test('U-68 the log has what ran by the hash of what ran, once, with its mode', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(1) });
  const asked = question(await lab.service.run(REQUEST, thread('t')));
  await lab.service.invoke(answered({ type: 'edit', code: writing(2) }), thread('t'));
  const { decision } = await lab.service.approvals.get(asked.id);
  const log = await lab.service.audit.list({ approvalId: asked.id });
  const write = { mode: 'write_access' };
  expect(log.map(({ action, codeSha256, details }) => [action, codeSha256, details])).toEqual([
    ['requested', asked.codeSha256, write],
    ['edited', asked.codeSha256, expect.objectContaining({ ...write, editedSha256: decision?.codeSha256 })],
    ['claimed', decision?.codeSha256, expect.objectContaining(write)],
    ['executed', decision?.codeSha256, { ...write, outcome: 'succeeded' }],
    ['finished', decision?.codeSha256, { ...write, outcome: { outcome: 'completed' } }],
  ]);
});

test('U-68 an edit that was refused is never logged as run', async () => {
  const config = { execution_control: { epics: { writes_enabled: false } }, approval: ALL_CODE };
  await using lab = await laboratory.start({ config });
  await lab.service.run(REQUEST, thread('t'));
  await lab.service.run(answered({ type: 'edit', code: writing(2) }), thread('t')).catch(() => undefined);
  const log = await lab.service.audit.list();
  expect(log.map(({ action }) => action)).toEqual(['requested', 'edited', 'claimed', 'refused', 'finished']);
  expect(new Set(log.slice(2).map(({ codeSha256 }) => codeSha256)).size).toBe(1);
});

const ALL_CODE = { capabilities: { python_execution: { mode: 'all_code' } } };

test('an answer in words brings new code that has heard them, and that is asked about', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: [writing(1), writing(2)] });
  await lab.service.run(REQUEST, thread('t'));
  const second = question(
    await lab.service.run(answered({ type: 'respond', text: 'Not magnet 1, magnet 2.' }), thread('t')),
  );
  expect([second.code, second.attempt]).toEqual([writing(2), 2]);
  expect(lab.generations[1]).toMatchObject([
    { errorMessage: 'Not magnet 1, magnet 2.', stage: 'approval', failedCode: writing(1) },
  ]);
  const { executionResult } = await lab.service.invoke(answered('yes'), thread('t'));
  expect(executionResult.results).toEqual({ answer: 2 });
});

test('OB-10 a rejection is an answer with a name and a reason, and its request has ended', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(1) });
  const { id } = question(await lab.service.run(REQUEST, thread('t')));
  const rejected = { name: 'ExecutionRejectedError', category: 'workflow', rejectedBy: 'Ann', reason: 'not today' };
  const no = { type: 'reject', reason: 'not today' };
  await expect(lab.service.decide(id, no, { by: 'Ann' })).rejects.toMatchObject(rejected);
  expect((await lab.service.status(thread('t')))?.settled).toThrow('Ann rejected it (not today)');
  expect(await actions(lab.service, 't')).toEqual(['requested', 'rejected']);
});

test('an approval is of the code that was shown, and of no other', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(1) });
  const { payload, id } = question(await lab.service.run(REQUEST, thread('t')));
  const { resume_payload: shown } = payload as { readonly resume_payload: Readonly<Record<string, unknown>> };
  for (const [answer, words] of [
    [{ approved: true, ...shown, code: writing(2) }, 'different code than the code that was shown'],
    [{ approved: true, approval_id: crypto.randomUUID() }, 'is for another approval'],
    ['maybe', 'approves nothing'],
    [{ type: 'edit', code: '' }, 'approves nothing'],
  ] as const) {
    await expect(lab.service.invoke(answered(answer), thread('t')), words).rejects.toThrow(words);
  }
  expect((await lab.service.approvals.get(id)).status).toBe('pending');
  const { executionResult } = await lab.service.invoke(
    answered({ approved: true, approval_id: id, ...shown }),
    thread('t'),
  );
  expect(executionResult.results).toEqual({ answer: 1 });
});

test('who decides about an approval decides about that one, not about the one that came after it', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: [writing(1), writing(2)] });
  const first = question(await lab.service.run(REQUEST, thread('t')));
  const second = question(await lab.service.run(answered({ type: 'respond', text: 'Other code.' }), thread('t')));
  await expect(lab.service.decide(first.id, 'yes', { by: 'Ann' })).rejects.toMatchObject({ code: 'APPROVAL_DECIDED' });
  expect((await lab.service.approvals.get(second.id)).status).toBe('pending');
});

test('an approval that nobody gave in time runs nothing, and its thread is free again', async () => {
  const config = { ...WRITES, approval: { capabilities: { python_execution: { expires_after_seconds: 1 } } } };
  await using lab = await laboratory.start({ config, code: [writing(1), 'results = {"answer": 2}'] });
  const { id, expiresAt } = question(await lab.service.run(REQUEST, thread('t')));
  await sleep((expiresAt?.getTime() ?? 0) - Date.now() + 50);
  await expect(lab.service.invoke(answered({ approved: true }), thread('t'))).rejects.toMatchObject({
    name: 'WorkflowError',
    stage: 'approval',
    message: expect.stringContaining('expired before anybody decided') as unknown,
  });
  expect((await lab.service.approvals.get(id)).status).toBe('expired');
  const { executionResult } = await lab.service.invoke(REQUEST, thread('t'));
  expect(executionResult.results).toEqual({ answer: 2 });
});

test('a thread whose approval expired takes a new request at once', async () => {
  const config = { ...WRITES, approval: { capabilities: { python_execution: { expires_after_seconds: 1 } } } };
  await using lab = await laboratory.start({ config, code: [writing(1), 'results = {"answer": 2}'] });
  const { expiresAt } = question(await lab.service.run(REQUEST, thread('t')));
  await expect(lab.service.run(REQUEST, thread('t'))).rejects.toThrow('This thread waits for approval');
  await sleep((expiresAt?.getTime() ?? 0) - Date.now() + 50);
  expect((await lab.service.invoke(REQUEST, thread('t'))).executionResult.results).toEqual({ answer: 2 });
});

test('code that failed after it was approved is written again, and that is asked about again', async () => {
  const config = { ...WRITES, approval: { capabilities: { python_execution: { preview: false } } } };
  await using lab = await laboratory.start({ config, code: [`${writing(1)}\n1/0`, writing(2)] });
  const first = question(await lab.service.run(REQUEST, thread('t')));
  const second = question(await lab.service.run(answered('yes'), thread('t')));
  expect([second.id === first.id, second.code]).toEqual([false, writing(2)]);
  expect((await lab.service.approvals.get(first.id)).run).toMatchObject({ status: 'finished' });
});

function stageOf(name: string): string {
  return name.replace(/_\d{6}\.ipynb$/, '');
}

async function actions(
  service: Awaited<ReturnType<typeof laboratory.start>>['service'],
  id: string,
): Promise<string[]> {
  const entries = await service.audit.list({ threadId: `python_executor/${id}` });
  return entries.map(({ action }) => action);
}

test('O-18 OB-13 a request that says whose it is is answered by nobody else', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(1) });
  const request = { ...REQUEST, session_context: { user_id: 'ann', chat_id: '束'.repeat(60) } };
  await lab.service.run(request, thread('t'));
  await expect(lab.service.run(answered('yes'), thread('t'))).rejects.toThrow('has no request');
  const { configurable } = thread('t');
  const bob = { configurable: { ...configurable, user_id: 'bob', chat_id: '束'.repeat(60) } };
  await expect(lab.service.run(answered('yes'), bob)).rejects.toThrow('has no request');
  const ann = { configurable: { ...configurable, user_id: 'ann', chat_id: '束'.repeat(60) } };
  expect(await lab.service.run(answered('yes'), ann)).toMatchObject({ status: 'completed' });
});

test('OB-10 the record of a rejection does not call it a failure', async () => {
  await using lab = await laboratory.start({ config: WRITES, code: writing(1) });
  await lab.service.run(REQUEST, thread('t'));
  const rejected: unknown = await lab.service.run(answered('no'), thread('t')).catch((error: unknown) => error);
  const notebook = readFileSync(path.join((rejected as { folderPath: string }).folderPath, 'notebook.ipynb'), 'utf8');
  expect(notebook).toContain('# Rejected, and Not Executed');
  expect(notebook).not.toContain('Failed Execution');
});
