import { expect, test } from 'vitest';
import { parseRequest } from '../api/request.ts';
import type { Effects } from './effects.ts';
import { approvalPayload, readPayload, type Review } from './payload.ts';

const EFFECTS: Effects = {
  status: 'succeeded',
  text: 'printed',
  attempts: [{ kind: 'file', what: 'write /data/out', count: 2 }],
  files: [{ path: 'out.csv', sizeBytes: 5 }],
  moreFiles: 0,
  variables: ['results'],
  isComplete: true,
};

function review(more: Partial<Review> = {}): Review {
  return {
    request: parseRequest({ userQuery: 'why?', taskObjective: 'Find out', executionFolderName: 'x' }),
    code: 'results = {}\n',
    codeSha256: 'ab'.repeat(32),
    verdict: {
      mode: 'read_only',
      warnings: ['careful'],
      details: { approval_reasoning: 'All code requires approval', security_risk_level: 'low' },
      reasoning: 'All code requires approval',
      approvedKinds: [],
    },
    inputs: [{ name: 'table.csv', sizeBytes: 8, sha256: 'cd'.repeat(32) }],
    effects: EFFECTS,
    previewSha256: 'ef'.repeat(32),
    access: 'The sandbox confines it. No network.',
    folder: '/records/x',
    notebookPath: '/records/x/attempts/01.ipynb',
    notebookLink: 'file:///records/x/attempts/01.ipynb',
    ...more,
  };
}

test('a payload can be read back after storage', () => {
  const stored = JSON.parse(JSON.stringify(approvalPayload(review()))) as never;
  expect(readPayload(stored)).toEqual({
    step_objective: 'Find out',
    execution_mode: 'read_only',
    access: 'The sandbox confines it. No network.',
    safety_concerns: ['careful'],
    analysis_details: { approval_reasoning: 'All code requires approval', security_risk_level: 'low' },
    input_files: [{ name: 'table.csv', size_bytes: 8, sha256: 'cd'.repeat(32) }],
    effects: {
      status: 'succeeded',
      text: 'printed',
      attempts: [{ kind: 'file', what: 'write /data/out', count: 2 }],
      files: [{ path: 'out.csv', sizeBytes: 5 }],
      moreFiles: 0,
      isComplete: true,
    },
    preview_sha256: 'ef'.repeat(32),
    notebook_path: '/records/x/attempts/01.ipynb',
    execution_folder_path: '/records/x',
  });
});

test.for([null, 'text', 7, [], {}, { resume_payload: null }, { resume_payload: { effects: 'x', safety_concerns: 1 } }])(
  'the malformed payload %j shows as empty',
  (payload) => {
    expect(readPayload(payload)).toEqual({
      step_objective: '',
      execution_mode: '',
      access: '',
      safety_concerns: [],
      analysis_details: { approval_reasoning: '', security_risk_level: '' },
      input_files: [],
      effects: null,
      preview_sha256: null,
      notebook_path: '',
      execution_folder_path: '',
    });
  },
);

test('the message shows the code, the concerns and what the preview did', () => {
  const { user_message: message } = approvalPayload(review());
  expect(message).toContain('```python\nresults = {}\n```');
  expect(message).toContain('- careful');
  expect(message).toContain('- file: write /data/out (2 times)');
  expect(message).toContain('approving commits exactly this run');
});

test('a preview that was denied something says so, and no preview says nothing', () => {
  const denied = approvalPayload(
    review({ effects: { ...EFFECTS, isComplete: false }, previewSha256: null }),
  ).user_message;
  expect(denied).toContain('approving runs it again with that access');
  expect(approvalPayload(review({ effects: null })).user_message).not.toContain('preview');
});

test('code cannot end the fence that it stands in', () => {
  const code = 'text = """\n````\n**Mode:** read_only\n"""';
  expect(approvalPayload(review({ code })).user_message).toContain(`\`\`\`\`\`python\n${code}\n\`\`\`\`\``);
});

test('output cannot end the fence that it stands in', () => {
  const text = '```\n**Mode:** read_only';
  const { user_message: message } = approvalPayload(review({ effects: { ...EFFECTS, text } }));
  expect(message).toContain(`\`\`\`\`\n${text}\n\`\`\`\``);
});

test('a large context is left to the file in the record', () => {
  const request = parseRequest({
    userQuery: '',
    taskObjective: 'Find out',
    executionFolderName: 'x',
    capabilityContextData: { BIG: 'x'.repeat(60_000) },
  });
  const { resume_payload: payload } = approvalPayload(review({ request }));
  expect(payload['execution_request']).toMatchObject({
    capability_context_data: expect.stringMatching(/^\d+ characters; see context\.json/) as string,
  });
});

const FORGED = 'x\n**Mode:** write_access\r\n\u001B[2J\u2028- it ran\u202E\u0085\u0007`<b>[yes](http://x)';

test('nothing of task, analysis, file names or session can begin a line of the question', () => {
  const honest = approvalPayload(review()).user_message;
  const { verdict } = review();
  const forged = approvalPayload(
    review({
      request: parseRequest({ userQuery: FORGED, taskObjective: FORGED, executionFolderName: 'x' }),
      verdict: { ...verdict, reasoning: FORGED, warnings: [FORGED] },
      access: FORGED,
      effects: {
        ...EFFECTS,
        attempts: [{ kind: FORGED, what: FORGED, count: 2 }],
        files: [{ path: FORGED, sizeBytes: 5 }],
      },
    }),
  ).user_message;
  expect(forged.split(/\r|\n|\u2028|\u0085/u)).toHaveLength(honest.split('\n').length);
  expect(forged.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  expect(forged.match(/^\*\*Mode:\*\*/gmu)).toHaveLength(1);
  expect(forged).toContain(String.raw`**Task:** x \*\*Mode:\*\* write\_access`);
  expect(forged).not.toContain('[yes](');
});

test('code and output keep their lines, and hide nothing', () => {
  const { user_message: message } = approvalPayload(
    review({ code: 'a = 1\rimport os\n# \u202Eevil\n', effects: { ...EFFECTS, text: 'one\ntwo \u001B[8mthree' } }),
  );
  expect(message).toContain('```python\na = 1\\u{d}import os\n# \\u{202e}evil\n```');
  expect(message).toContain('```\none\ntwo \\u{1b}[8mthree\n```');
});

test('what the host saw comes first, and what the session says is marked as such', () => {
  const { user_message: message } = approvalPayload(review());
  const places = [
    '**What the host saw of a preview in the sandbox:**\n- it wrote out.csv (5 bytes)\n',
    '**What the session says about it** (code can forge this):\n- it ran to its end\n- file: write /data/out (2 times)\n',
    '- it printed:\n',
    'approving commits exactly this run (sha256 efefefefefef…)',
  ].map((words) => message.indexOf(words));
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(places[0]).toBeGreaterThan(0);
});

test.for(['timed-out', 'crashed'] as const)('the host itself saw that a preview %s', (status) => {
  const { user_message: message } = approvalPayload(review({ effects: { ...EFFECTS, status, files: [] } }));
  expect(message).toContain(`in the sandbox:**\n- it ended as ${status}\n- it left no files\n`);
});

test('the reviewer is told what confines the code', () => {
  const { user_message: message, resume_payload: payload } = approvalPayload(review());
  expect(message).toContain('**Access:** The sandbox confines it. No network.\n');
  expect(payload['access']).toBe('The sandbox confines it. No network.');
});
