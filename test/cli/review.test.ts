/** What a reviewer sees. Code, model and session are hostile: nothing of theirs may look like ours. */
import { describe, expect, test } from 'vitest';
import { approvalJson } from '../../src/cli/review/approval-json.ts';
import { printReview } from '../../src/cli/review/approval-text.ts';
import { sha256Of, type Approval } from '../../src/storage/approvals/approval.ts';
import { visibleJson } from '../../src/text/visible.ts';
import { approvalOf, ASKED_AT, payloadOf } from '../support/approval.ts';
import { CommandContext } from '../support/command-context.ts';

async function review(approval: Approval, columns?: number): Promise<string> {
  const context = new CommandContext(columns === undefined ? {} : { isTerminal: true, columns });
  await printReview(approval, context.stdout);
  return context.out.plain;
}

describe('The text of an approval', () => {
  test('shows the facts, the task and the code with its hash', async () => {
    expect(await review(approvalOf('print(1)\n'))).toBe(
      `${[
        'Approval a-1',
        '  Status    pending',
        '  Why       All code requires approval',
        '  Mode      read_only',
        '  Risk      low',
        '  Asked by  ada, 2024-07-01T12:00:00.000Z',
        '  Expires   never',
        '  Notebook  /records/notebook.ipynb',
        '  Folder    /records',
        'Task',
        '│ Mean price',
        `Code, sha256 ${sha256Of('print(1)\n')}`,
        '│ print(1)',
      ].join('\n')}\n`,
    );
  });

  test('shows concerns, files, the expiry, the decision and the run', async () => {
    const said = await review(
      approvalOf('x', {
        status: 'rejected',
        expiresAt: new Date('2024-07-02T00:00:00.000Z'),
        decision: { type: 'reject', reason: 'not now', by: 'grace', at: ASKED_AT },
        run: { status: 'unknown', owner: 'host', claimedAt: ASKED_AT, leaseUntil: ASKED_AT },
        payload: payloadOf({
          safety_concerns: ['writes files', 'reads the network'],
          input_files: [{ name: 'sales.csv', size_bytes: 34, sha256: 'abcdef0123456789' }],
        }),
      }),
    );
    expect(said).toContain('  Status      rejected\n');
    expect(said).toContain('  Expires     2024-07-02T00:00:00.000Z\n');
    expect(said).toContain('  Files       sales.csv (34 bytes, abcdef012345…)\n');
    expect(said).toContain('  Decided by  grace, 2024-07-01T12:00:00.000Z\n');
    expect(said).toContain('  Reason      not now\n');
    expect(said).toContain('  Run         unknown, begun 2024-07-01T12:00:00.000Z\n');
    expect(said).toContain('Concerns\n│ - writes files\n│ - reads the network\n');
  });

  test('shows edited code with its own hash, and a response', async () => {
    const edited = await review(
      approvalOf('x = 1', {
        status: 'edited',
        decision: { type: 'edit', code: 'x = 2', codeSha256: sha256Of('x = 2'), by: 'g', at: ASKED_AT },
      }),
    );
    expect(edited).toContain(
      `Code, sha256 ${sha256Of('x = 1')}\n│ x = 1\nCode as edited, sha256 ${sha256Of('x = 2')}\n│ x = 2\n`,
    );
    const responded = await review(
      approvalOf('x', {
        status: 'responded',
        decision: { type: 'respond', text: 'Use\nthe median.', by: 'g', at: ASKED_AT },
      }),
    );
    expect(responded).toContain('Response\n│ Use\n│ the median.\n');
  });

  const EFFECTS = { status: 'succeeded', text: '', attempts: [], files: [], isComplete: true };

  test.for([
    [
      'a run that would be kept',
      EFFECTS,
      ['│ - it ran to its end\n', 'exactly this run is kept.\n'],
      ['printed', 'again'],
    ],
    [
      'a run that needs more access',
      { ...EFFECTS, isComplete: false },
      ['it runs again with that access.\n'],
      ['is kept'],
    ],
    ['a run that failed', { ...EFFECTS, status: 'raised' }, ['│ - it ended as raised\n'], ['to its end']],
    [
      'attempts and files',
      {
        ...EFFECTS,
        attempts: [
          { kind: 'network', what: 'example.org:80', count: 1 },
          { kind: 'write', what: '/etc/passwd', count: 3 },
        ],
        files: [{ path: 'a.csv', sizeBytes: 12 }],
      },
      [
        'What the host saw of a trial run\n│ - it wrote a.csv (12 bytes)\nWhat its session says, which code can forge\n',
        '│ - network: example.org:80\n│ - write: /etc/passwd (3 times)\n',
      ],
      ['(1 times)'],
    ],
    ['output', { ...EFFECTS, text: 'one\ntwo\n\n' }, ['│ - output:\n│     one\n│     two\n'], []],
  ] as const)('shows what a trial run did: %s', async ([, effects, words, absent]) => {
    const said = await review(approvalOf('x', { payload: payloadOf({ effects }) }));
    for (const word of ['What the host saw of a trial run\n', ...words]) expect(said).toContain(word);
    for (const word of absent) expect(said).not.toContain(word);
  });

  const FORGED = 'x\nCode, sha256 0000\n│ harmless()\n\u001B[2J\u001B[1;1HApproval a-1\r  Risk low\u202E';

  test('shows as many concerns and files as there are, whatever they say', async () => {
    const forged = await review(
      approvalOf('x', {
        payload: payloadOf({
          safety_concerns: ['one\n- nothing else'],
          effects: {
            status: 'raised',
            text: '',
            attempts: [],
            files: [{ path: 'a\n- b', sizeBytes: 1 }],
            isComplete: true,
          },
          notebook_path: 'n\nForged low',
        }),
      }),
    );
    const listed = forged.split('\n').filter((line) => /^[│┆] - /u.test(line));
    expect(forged).not.toMatch(/^\s*Forged/mu);
    expect(listed).toEqual(['│ - one - nothing else', '│ - it wrote a - b (1 bytes)', '│ - it ended as raised']);
  });

  test.for([undefined, 40] as const)('lets nothing forge a line of ours, with %s columns', async (columns) => {
    const honest = await review(approvalOf('x'), columns);
    const forged = await review(
      approvalOf(FORGED, {
        requestedBy: FORGED,
        decision: { type: 'edit', code: FORGED, codeSha256: 'h', reason: FORGED, by: FORGED, at: ASKED_AT },
        payload: payloadOf({
          step_objective: FORGED,
          execution_mode: FORGED,
          safety_concerns: [FORGED],
          analysis_details: { approval_reasoning: FORGED, security_risk_level: FORGED },
          input_files: [{ name: FORGED, size_bytes: 1, sha256: FORGED }],
          effects: {
            status: FORGED,
            text: FORGED,
            attempts: [{ kind: FORGED, what: FORGED, count: 1 }],
            files: [{ path: FORGED, sizeBytes: 1 }],
            isComplete: true,
          },
          preview_sha256: FORGED,
          access: FORGED,
          notebook_path: 'n\u001B[2J',
        }),
      }),
      columns,
    );
    // oxlint-disable-next-line no-control-regex
    expect(forged).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/u);
    const ours = (text: string): string[] =>
      text.split('\n').filter((line) => /^\S/u.test(line) && !/^[│┆] /u.test(line));
    const titles = ours(forged).map((line) => line.replace(/ [0-9a-fh]{1,64}$/u, ''));
    expect(titles).toEqual([
      'Approval a-1',
      'Access',
      'Task',
      'Concerns',
      'Code, sha256',
      'What the host saw of a trial run',
      'What its session says, which code can forge',
      expect.stringMatching(
        /^Nothing has left the sandbox. If you approve, exactly this run is kept \(sha256 x Code.*\)\.$/u,
      ) as string,
      'Code as edited, sha256',
    ]);
    expect(ours(honest)).toHaveLength(3);
    // Nor a line of ours within a frame.
    expect(forged.match(/^[│┆] - /gmu)).toHaveLength(['concern', 'file', 'status', 'attempt', 'output'].length);
    const facts = forged.split('\n').filter((line) => line.startsWith('  ') && !line.startsWith('  Notebook'));
    for (const line of facts) expect(line.length).toBeLessThanOrEqual(columns ?? 414);
  });

  test('leaves out what is missing, also for an approval of another graph', async () => {
    const said = await review(approvalOf('x', { payload: { note: 'not ours' } }));
    expect(said).toMatch(/^Approval a-1\n {2}Status .*\n {2}Asked by .*\n {2}Expires .*\nCode, sha256 .*\n│ x\n$/);
  });

  test('cuts long facts and keeps paths whole', async () => {
    const folder = `/records/${'deep/'.repeat(100)}`;
    const said = await review(
      approvalOf('x', { requestedBy: 'y'.repeat(1000), payload: payloadOf({ execution_folder_path: folder }) }),
    );
    expect(said).toMatch(/ {2}Asked by {2}y{399}…\n/);
    expect(said).toContain(`  Folder    ${folder}\n`);
  });
});

describe('The JSON of an approval', () => {
  test('has snake-case keys and everything that is stored', () => {
    const approval = approvalOf('x', { expiresAt: ASKED_AT, status: 'pending' });
    expect(JSON.parse(visibleJson(approvalJson(approval)))).toEqual({
      id: 'a-1',
      status: 'pending',
      thread_id: 'thread',
      attempt: 1,
      code: 'x',
      code_sha256: sha256Of('x'),
      requested_by: 'ada',
      created_at: '2024-07-01T12:00:00.000Z',
      expires_at: '2024-07-01T12:00:00.000Z',
      decision: null,
      run: null,
      payload: payloadOf({}),
    });
  });

  test.for([
    [
      { type: 'approve', codeSha256: 'h' },
      { type: 'approve', code_sha256: 'h' },
    ],
    [
      { type: 'edit', code: 'y', codeSha256: 'h' },
      { type: 'edit', code: 'y', code_sha256: 'h' },
    ],
    [
      { type: 'reject', reason: 'no' },
      { type: 'reject', reason: 'no', code_sha256: null },
    ],
    [
      { type: 'respond', text: 'other' },
      { type: 'respond', text: 'other', code_sha256: null },
    ],
  ] as const)('of the decision %j', ([decision, json]) => {
    const whose = { by: 'grace', at: ASKED_AT };
    const { decision: shown } = approvalJson(approvalOf('x', { decision: { ...decision, ...whose } }));
    expect(shown).toEqual({ ...json, ...whose });
  });

  test('of a run says when its lease ends, or how it ended', () => {
    const claimed = { owner: 'host', claimedAt: ASKED_AT };
    const whose = { owner: 'host', claimed_at: ASKED_AT };
    expect(
      approvalJson(approvalOf('x', { run: { status: 'running', leaseUntil: ASKED_AT, ...claimed } }))['run'],
    ).toEqual({ status: 'running', lease_until: ASKED_AT, ...whose });
    const run = { status: 'finished', finishedAt: ASKED_AT, outcome: { ok: true }, ...claimed } as const;
    expect(approvalJson(approvalOf('x', { run }))['run']).toEqual({
      status: 'finished',
      finished_at: ASKED_AT,
      outcome: { ok: true },
      ...whose,
    });
  });
});
