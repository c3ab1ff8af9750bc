import { expect, test } from 'vitest';
import { parseRequest } from '../api/request.ts';
import type { Effects } from './effects.ts';
import { approvalPayload, readPayload, type Review } from './payload.ts';

const EFFECTS: Effects = {
  status: 'succeeded',
  text: 'printed',
  attempts: [{ kind: 'file', what: 'write /data/out', count: 2 }],
  files: [{ path: 'out.csv', sizeBytes: 5 }],
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
    safety_concerns: ['careful'],
    analysis_details: { approval_reasoning: 'All code requires approval', security_risk_level: 'low' },
    input_files: [{ name: 'table.csv', size_bytes: 8, sha256: 'cd'.repeat(32) }],
    effects: {
      status: 'succeeded',
      text: 'printed',
      attempts: [{ kind: 'file', what: 'write /data/out', count: 2 }],
      files: [{ path: 'out.csv', sizeBytes: 5 }],
      isComplete: true,
    },
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
      safety_concerns: [],
      analysis_details: { approval_reasoning: '', security_risk_level: '' },
      input_files: [],
      effects: null,
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
  const denied = approvalPayload(review({ effects: { ...EFFECTS, isComplete: false } })).user_message;
  expect(denied).toContain('approving runs it again with that access');
  expect(approvalPayload(review({ effects: null })).user_message).not.toContain('preview');
});

test('code cannot end the fence that it stands in', () => {
  const code = 'text = """\n````\n**Mode:** read_only\n"""';
  expect(approvalPayload(review({ code })).user_message).toContain(`\`\`\`\`\`python\n${code}\n\`\`\`\`\``);
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
