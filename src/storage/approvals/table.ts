/** The table of approvals, and reading its rows. */
import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';
import { VivariumError } from '../../errors.ts';
import type { Row } from '../database/database.ts';
import { Decision, sha256Of, STATUSES, type Approval, type ApprovedRun, type Decided } from './approval.ts';

/** Creates the table, in SQL that both databases understand. */
export function approvalsTable(name: string): string {
  return `
    CREATE TABLE ${name} (
      id TEXT PRIMARY KEY,
      identity TEXT NOT NULL UNIQUE,
      thread_id TEXT NOT NULL,
      checkpoint_ns TEXT NOT NULL,
      request_id TEXT NOT NULL,
      attempt INTEGER NOT NULL,
      code TEXT NOT NULL,
      code_sha256 TEXT NOT NULL,
      payload TEXT NOT NULL,
      requested_by TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT,
      status TEXT NOT NULL CHECK (status IN (${STATUSES.map((status) => `'${status}'`).join(', ')})),
      decided_by TEXT,
      decided_at BIGINT,
      decision TEXT,
      allowed_sha256 TEXT,
      run_owner TEXT,
      run_claimed_at BIGINT,
      run_lease_until BIGINT,
      run_finished_at BIGINT,
      run_outcome TEXT
    );
    CREATE INDEX approvals_by_status ON ${name} (status, expires_at);
    CREATE INDEX approvals_by_thread ON ${name} (thread_id);`;
}

// `pg` returns 64-bit integers as text.
const Moment = z.coerce.number().transform((milliseconds) => new Date(milliseconds));
const JsonText = z.string().transform((encoded) => JSON.parse(encoded) as Json);
const DecisionText = z
  .string()
  .transform((encoded): unknown => JSON.parse(encoded))
  .pipe(Decision);

const ApprovalRow = z.object({
  id: z.string(),
  thread_id: z.string(),
  checkpoint_ns: z.string(),
  request_id: z.string(),
  attempt: z.coerce.number(),
  code: z.string(),
  code_sha256: z.string(),
  payload: JsonText,
  requested_by: z.string(),
  created_at: Moment,
  expires_at: Moment.nullable(),
  status: z.enum(STATUSES),
  decided_by: z.string().nullable(),
  decided_at: Moment.nullable(),
  decision: DecisionText.nullable(),
  /** Identifies the code that may run, as proposed or as edited. */
  allowed_sha256: z.string().nullable(),
  run_owner: z.string().nullable(),
  run_claimed_at: Moment.nullable(),
  run_lease_until: Moment.nullable(),
  run_finished_at: Moment.nullable(),
  run_outcome: JsonText.nullable(),
  /** The database's clock when the row was read. */
  now: Moment,
});
type ApprovalRow = z.infer<typeof ApprovalRow>;

export function toApproval(row: Row): Approval {
  const read = readRow(row);
  const isOver = read.status === 'pending' && read.expires_at !== null && read.expires_at <= read.now;
  return {
    id: read.id,
    threadId: read.thread_id,
    checkpointNs: read.checkpoint_ns,
    requestId: read.request_id,
    attempt: read.attempt,
    code: read.code,
    codeSha256: read.code_sha256,
    payload: read.payload,
    requestedBy: read.requested_by,
    createdAt: read.created_at,
    expiresAt: read.expires_at,
    status: isOver ? 'expired' : read.status,
    decision: toDecided(read),
    run: toRun(read),
  };
}

/** The approved code. Code whose hash differs from the approved one was changed afterwards and is not run. */
export function allowedCode({ id, code, decision }: Approval): { readonly code: string; readonly codeSha256: string } {
  const allowed = decision?.type === 'edit' ? decision.code : code;
  const codeSha256 = sha256Of(allowed);
  if (codeSha256 !== decision?.codeSha256) throw damaged(id, 'contains other code than was approved');
  return { code: allowed, codeSha256 };
}

function readRow(row: Row): ApprovalRow {
  try {
    return ApprovalRow.parse(row);
  } catch (cause) {
    throw damaged(String(row['id']), 'cannot be read', cause);
  }
}

function toDecided({ decision, decided_by, decided_at, allowed_sha256 }: ApprovalRow): Decided | null {
  if (decision === null || decided_by === null || decided_at === null) return null;
  return {
    ...decision,
    by: decided_by,
    at: decided_at,
    ...(allowed_sha256 === null ? {} : { codeSha256: allowed_sha256 }),
  };
}

function toRun(row: ApprovalRow): ApprovedRun | null {
  const { run_owner: owner, run_claimed_at: claimedAt, run_lease_until: leaseUntil, run_finished_at: finishedAt } = row;
  if (owner === null || claimedAt === null || leaseUntil === null) return null;
  if (finishedAt !== null) return { status: 'finished', owner, claimedAt, finishedAt, outcome: row.run_outcome };
  return { status: leaseUntil > row.now ? 'running' : 'unknown', owner, claimedAt, leaseUntil };
}

function damaged(id: string, what: string, cause?: unknown): VivariumError {
  return new VivariumError(
    'STORAGE_FAILED',
    `Approval ${id} ${what}: something other than Vivarium changed its row. Nothing was run. Inspect the database, or send the request again.`,
    { cause },
  );
}
