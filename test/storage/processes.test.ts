/** What must hold when processes compete or are killed. */
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';
import { describeBackends, opened } from './backends.ts';
import { contend, Program } from './processes.ts';

const CROWD = { processes: 3, times: 10 };

describeBackends(({ fresh, query }) => {
  test('processes that start at once make the tables once', async () => {
    const answers = await contend(await fresh(), 'open', { processes: 3, times: 4 });
    expect(answers).toEqual(repeat('opened with 0', 12));
  });

  test('of all who decide at once exactly one does', async () => {
    const place = await fresh();
    const { approvals, audit } = await opened(place);
    const { id } = await ask(approvals);
    const answers = await contend(place, 'decide', { id, ...CROWD });
    const { status } = await approvals.get(id);
    expect(answers.toSorted()).toEqual([...repeat('APPROVAL_DECIDED', 29), status]);
    expect((await audit.list({ approvalId: id })).map(({ action }) => action)).toEqual(['requested', status]);
  });

  test('of all who want to run approved code exactly one may', async () => {
    const place = await fresh();
    const { approvals, audit } = await opened(place);
    const { id } = await ask(approvals);
    await approvals.decide(id, { type: 'approve' }, { by: 'reviewer' });
    const answers = await contend(place, 'claim', { id, ...CROWD });
    expect(answers.toSorted()).toEqual(['claimed', ...repeat('running', 29)]);
    expect(await audit.list({ approvalId: id, action: 'claimed' })).toHaveLength(1);
  });

  test('all who ask for the same approval at once get the same one', async () => {
    const place = await fresh();
    const { approvals, audit } = await opened(place);
    const answers = await contend(place, 'create', { id: 'thread', ...CROWD });
    expect(new Set(answers)).toEqual(new Set((await approvals.list()).map(({ id }) => id)));
    expect(new Set(answers).size).toBe(1);
    expect(await audit.list({ action: 'requested' })).toHaveLength(1);
  });

  test('what expires does so once, however many look', async () => {
    const place = await fresh();
    const { approvals, audit } = await opened(place);
    await ask(approvals, { expiresInMs: 0 });
    const answers = await contend(place, 'expire', { processes: 2, times: 5 });
    expect(answers.toSorted()).toEqual([...repeat('expired 0', 9), 'expired 1']);
    expect(await audit.list({ action: 'expired' })).toHaveLength(1);
  });

  test('a process killed while it waits for approval is taken up by another', async () => {
    const [place, journal] = [await fresh(), journalFile()];
    const first = new Program('workflow.ts', place, 'hang-after-interrupt', journal);
    expect(await first.line()).toBe('interrupted');
    await first.kill();
    const { approvals } = await opened(place);
    expect(await approvals.list({ status: 'pending' })).toMatchObject([
      { code: 'print(1)', payload: { why: 'a test' } },
    ]);
    expect(await new Program('workflow.ts', place, 'resume', journal).line()).toBe('ran with 0,255,254,1');
    expect(await readFile(journal, 'utf8')).toBe('ran print(1)\n');
    expect(await approvals.list()).toMatchObject([{ status: 'approved', run: { status: 'finished' } }]);
  });

  test('a process killed after it asked does not ask a second time', async () => {
    const [place, journal] = [await fresh(), journalFile()];
    const first = new Program('workflow.ts', place, 'hang-before-interrupt', journal);
    expect(await first.line()).toBe('asked');
    await first.kill();
    const second = new Program('workflow.ts', place, 'hang-after-interrupt', journal);
    expect(await second.line()).toBe('interrupted');
    await second.kill();
    expect(await query(place, 'SELECT status FROM vivarium.approvals')).toMatchObject([{ status: 'pending' }]);
  });

  test('code whose process was killed while it ran is not run again, and its end is unknown', async () => {
    const [place, journal] = [await fresh(), journalFile()];
    const first = new Program('workflow.ts', place, 'hang-after-interrupt', journal);
    await first.line();
    await first.kill();
    const second = new Program('workflow.ts', place, 'hang-in-run', journal);
    expect(await second.line()).toBe('running');
    await second.kill();
    expect(await new Program('workflow.ts', place, 'go-on', journal).line()).toBe('unknown');
    expect(await readFile(journal, 'utf8')).toBe('ran print(1)\n');
  });
});

function ask(approvals: Storage['approvals'], more: { readonly expiresInMs?: number } = {}) {
  return approvals.create({
    threadId: 't',
    requestId: 'r',
    attempt: 1,
    code: 'print(1)',
    requestedBy: 'agent',
    ...more,
  });
}

function repeat(answer: string, times: number): string[] {
  return Array.from({ length: times }, () => answer);
}

function journalFile(): string {
  const file = path.join(tmpdir(), `vivarium-journal-${randomUUID()}`);
  onTestFinished(() => rm(file, { force: true }));
  return file;
}
