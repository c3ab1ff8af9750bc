import { expect, test } from 'vitest';
import { describeBackends, opened } from './backends.ts';

const SHA256 = 'a'.repeat(64);

describeBackends(({ fresh, query }) => {
  test('an entry is kept with the time at which it was written', async () => {
    const { audit } = await opened(await fresh());
    const before = Date.now();
    const details = { mode: 'ask', findings: ['network'] };
    const refused = { actor: 'policy', action: 'refused', threadId: 't', codeSha256: SHA256, details };
    const entry = await audit.append(refused);
    expect(entry).toMatchObject({ ...refused, approvalId: null });
    expect(Math.abs(entry.at.getTime() - before)).toBeLessThan(10_000);
    expect(await audit.list()).toEqual([entry]);
  });

  test('the life of an approval is written down with it', async () => {
    const { approvals, audit } = await opened(await fresh());
    const asked = await approvals.create({
      threadId: 't',
      requestId: 'r',
      attempt: 1,
      code: '1',
      requestedBy: 'agent',
    });
    const decided = await approvals.decide(asked.id, { type: 'edit', code: '2', reason: 'why not' }, { by: 'ada' });
    await approvals.claimExecution(asked.id, 'run-1', 1000);
    await approvals.finish(asked.id, 'run-1', { status: 'raised' });
    const entries = await audit.list({ approvalId: asked.id });
    const common = { approvalId: asked.id, threadId: 't', codeSha256: asked.codeSha256 };
    const edited = { ...common, codeSha256: decided.decision?.codeSha256 };
    expect(entries).toMatchObject([
      { ...common, actor: 'agent', action: 'requested' },
      { ...common, actor: 'ada', action: 'edited', details: { reason: 'why not' } },
      { ...edited, actor: 'run-1', action: 'claimed' },
      { ...edited, actor: 'run-1', action: 'finished', details: { outcome: { status: 'raised' } } },
    ]);
  });

  test('entries are found by who, what, which and when, page by page', async () => {
    const { audit } = await opened(await fresh());
    const first = await audit.append({ actor: 'a', action: 'refused', threadId: 't1' });
    const second = await audit.append({ actor: 'b', action: 'refused', threadId: 't2', approvalId: 'x' });
    const third = await audit.append({ actor: 'a', action: 'executed', threadId: 't2' });
    expect(await audit.list({ actor: 'a' })).toEqual([first, third]);
    expect(await audit.list({ action: 'refused' })).toEqual([first, second]);
    expect(await audit.list({ threadId: 't2', actor: 'a' })).toEqual([third]);
    expect(await audit.list({ approvalId: 'x' })).toEqual([second]);
    expect(await audit.list({ since: first.at, until: new Date(third.at.getTime() + 1) })).toHaveLength(3);
    expect(await audit.list({ until: first.at })).toEqual([]);
    expect(await audit.list({ limit: 2 })).toEqual([first, second]);
    expect(await audit.list({ limit: 2, afterId: second.id })).toEqual([third]);
  });

  test('a long log is exported whole, as lines of JSON', async () => {
    const place = await fresh();
    const { audit } = await opened(place);
    const numbers = Array.from(
      { length: 2100 },
      (_, index) => `(1, 'a', '${index === 7 ? 'odd' : 'even'}', '${index}')`,
    );
    await query(place, `INSERT INTO vivarium.audit (at, actor, action, details) VALUES ${numbers.join(', ')}`);
    const lines = await Array.fromAsync(audit.exportJsonl());
    expect(lines.every((line) => line.endsWith('}\n'))).toBe(true);
    const details = lines.map((line) => (JSON.parse(line) as { details: number }).details);
    expect(details).toEqual(Array.from({ length: 2100 }, (_, index) => index));
    expect(await Array.fromAsync(audit.exportJsonl({ action: 'odd' }))).toHaveLength(1);
  });

  test('the database itself refuses to change or remove an entry', async () => {
    const place = await fresh();
    const { audit } = await opened(place);
    const entry = await audit.append({ actor: 'a', action: 'refused' });
    const attempts = [
      `UPDATE vivarium.audit SET actor = 'nobody'`,
      'DELETE FROM vivarium.audit',
      place.startsWith('postgres')
        ? 'TRUNCATE vivarium.audit'
        : `INSERT OR REPLACE INTO audit (id, at, actor, action, details) VALUES (${entry.id}, 1, 'x', 'y', '0')`,
    ];
    for (const attempt of attempts) await expect(query(place, attempt)).rejects.toThrow('the audit log only grows');
    expect(await audit.list()).toEqual([entry]);
  });

  test('what cannot be stored is refused', async () => {
    const { audit } = await opened(await fresh());
    const wrong = [
      { actor: '', action: 'refused' },
      { actor: 'a', action: 'Not a word!' },
      { actor: 'a', action: 'refused', codeSha256: 'short' },
      { actor: 'a', action: 'refused', details: 'x'.repeat(300_000) },
    ];
    for (const entry of wrong) await expect(audit.append(entry)).rejects.toMatchObject({ code: 'RECORD_INVALID' });
    expect(await audit.list()).toEqual([]);
  });
});
