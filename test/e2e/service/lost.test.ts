/** Requests whose process dies: their approvals can still be decided, and reviewers learn what may have run. */
import path from 'node:path';
import { Command } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { openStorage, type Storage } from '../../../src/service.ts';
import { EPICS, Laboratory, question, REQUEST, thread, WRITES, type Service } from './laboratory.ts';

const laboratory = new Laboratory();

const APPROVE = new Command({ resume: { approved: true } });
const ALL_CODE = { approval: { capabilities: { python_execution: { mode: 'all_code' } } } };
const NOW = 'import time\nresults = {"answer": time.time_ns()}\nprint(results)';

/** A storage whose process dies right after the first call of a method. */
function dyingAfter(storage: Storage, method: 'create' | 'get'): Storage {
  let isAlive = true;
  const approvals = new Proxy(storage.approvals, {
    get: (target, name: keyof Storage['approvals']) => async (argument: never) => {
      const done = await (target[name] as (argument: never) => Promise<unknown>).call(target, argument);
      if (name !== method || !isAlive) return done;
      isAlive = false;
      throw new Error('the process dies here');
    },
  });
  return { ...storage, approvals };
}

/** A request whose process died before it waited for its approval, and a service that takes over. */
async function died(method: 'create' | 'get'): Promise<Service & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const baseDir = laboratory.fresh();
  const storage = stack.use(await openStorage(path.join(baseDir, 'shared.sqlite')));
  const dying = stack.use(
    await laboratory.start({ config: ALL_CODE, code: NOW, options: { baseDir, storage: dyingAfter(storage, method) } }),
  );
  await expect(dying.service.run(REQUEST, thread('t'))).rejects.toThrow('dies here');
  const next = stack.use(await laboratory.start({ config: ALL_CODE, code: NOW, options: { baseDir, storage } }));
  const owned = stack.move();
  return { ...next, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

for (const method of ['create', 'get'] as const) {
  test(`U-65 a question whose process died in \`${method}\` can be decided, and what was seen is committed`, async () => {
    await using lab = await died(method);
    const [asked] = await lab.service.approvals.list({ status: 'pending' });
    const done = await lab.service.decide(asked?.id ?? '', 'yes', { by: 'ann' });
    expect(done).toMatchObject({ status: 'completed' });
    const { stdout } = done.status === 'completed' ? done.result.executionResult : { stdout: '?' };
    expect(JSON.stringify(asked?.payload)).toContain(stdout.trim().slice(1, -1).split(': ')[1]);
    expect(lab.generations).toHaveLength(0);
    expect(await lab.service.approvals.list()).toHaveLength(1);
  });
}

test('the same by the thread alone', async () => {
  await using lab = await died('create');
  expect(await lab.service.run(APPROVE, thread('t'))).toMatchObject({ status: 'completed' });
  await expect(lab.service.run(APPROVE, thread('t'))).rejects.toThrow('has ended');
});

test('a request on the thread of one that died ends the waiting of its question', async () => {
  await using lab = await died('create');
  const [old] = await lab.service.approvals.list({ status: 'pending' });
  const asked = question(await lab.service.run(REQUEST, thread('t')));
  expect((await lab.service.approvals.list({ status: 'pending' })).map(({ id }) => id)).toEqual([asked.id]);
  await expect(lab.service.decide(old?.id ?? '', 'yes', { by: 'ann' })).rejects.toMatchObject({
    code: 'APPROVAL_EXPIRED',
  });
  expect(await lab.service.audit.list({ approvalId: old?.id ?? '', action: 'expired' })).toMatchObject([
    { details: { reason: 'a new request started on its thread' } },
  ]);
});

/** Approved code that writes, claimed with a lease of this length. */
async function claimed(leaseMs: number): Promise<Service & AsyncDisposable> {
  const code = `${EPICS}_w('magnet', 1)\nresults = {'answer': 1}`;
  const lab = await laboratory.start({ config: WRITES, code });
  const { id } = question(await lab.service.run(REQUEST, thread('t')));
  await lab.service.approvals.decide(id, { type: 'approve' }, { by: 'ann' });
  await lab.service.approvals.claimExecution(id, 'a process that died', leaseMs);
  return lab;
}

test('while approved code that writes is running, its thread takes no other request', async () => {
  await using lab = await claimed(60_000);
  await expect(lab.service.run(REQUEST, thread('t'))).rejects.toThrow('is already running');
  expect(lab.generations).toHaveLength(1);
});

test('who approves after approved code was lost is told that it may have run', async () => {
  await using lab = await claimed(0);
  const { payload } = question(await lab.service.run(REQUEST, thread('t')));
  const { user_message: message, resume_payload: shown } = payload as unknown as {
    readonly user_message: string;
    readonly resume_payload: { readonly safety_concerns: readonly string[] };
  };
  expect(shown.safety_concerns[0]).toMatch(/^Earlier code of this thread .* may have written, in part or in full/);
  expect(message).toContain(shown.safety_concerns[0]);
  const { analysis_warnings: warnings } = await lab.service.invoke(APPROVE, thread('t'));
  expect(warnings[0]).toBe(shown.safety_concerns[0]);
});

test('code that writes and was stopped half way is told of, though nobody had to approve it', async () => {
  const approval = { capabilities: { python_execution: { mode: 'disabled' } } };
  const framework = { execution: { modes: { write_access: { requires_approval: false } } } };
  const slow = `${EPICS}_w('magnet', 1)\nprint('on', flush=True)\nimport time\ntime.sleep(60)`;
  await using lab = await laboratory.start({
    config: { ...WRITES, approval, framework },
    code: [slow, 'results = {"answer": 1}', 'results = {"answer": 2}'],
  });
  for await (const event of lab.service.stream(REQUEST, thread('t'))) if (event.type === 'output') break;
  const first = await lab.service.invoke(REQUEST, thread('t'));
  expect(first.analysisWarnings[0]).toMatch(/may have written/);
  const second = await lab.service.invoke(REQUEST, thread('t'));
  expect(second.analysisWarnings).toEqual([]);
});
