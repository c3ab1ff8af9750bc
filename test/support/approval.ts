/** An approval as the storage gives it. */
import { sha256Of, type Approval } from '../../src/storage/approvals/approval.ts';
import type { Json } from '../../src/execution/execution.ts';

export const ASKED_AT = new Date('2024-07-01T12:00:00.000Z');

export function approvalOf(code: string, parts: Partial<Approval> = {}): Approval {
  return {
    id: 'a-1',
    threadId: 'thread',
    checkpointNs: '',
    requestId: 'request',
    attempt: 1,
    code,
    codeSha256: sha256Of(code),
    payload: payloadOf({}),
    requestedBy: 'ada',
    createdAt: ASKED_AT,
    expiresAt: null,
    status: 'pending',
    decision: null,
    run: null,
    ...parts,
  };
}

/** What the service stores for the reviewer. */
export function payloadOf(parts: Readonly<Record<string, Json>>): Json {
  return {
    user_message: 'Please decide.',
    resume_payload: {
      step_objective: 'Mean price',
      execution_mode: 'read_only',
      safety_concerns: [],
      analysis_details: { approval_reasoning: 'All code requires approval', security_risk_level: 'low' },
      input_files: [],
      effects: null,
      notebook_path: '/records/notebook.ipynb',
      execution_folder_path: '/records',
      ...parts,
    },
  };
}
