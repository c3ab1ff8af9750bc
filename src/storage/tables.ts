/** The tables that both databases have, written so that both understand them. */
import { STATUSES } from './approval/approval.ts';

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

export function auditTable(name: string, ascendingId: string): string {
  return `
    CREATE TABLE ${name} (
      id ${ascendingId},
      at BIGINT NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      approval_id TEXT,
      thread_id TEXT,
      code_sha256 TEXT,
      details TEXT NOT NULL
    );
    CREATE INDEX audit_by_approval ON ${name} (approval_id);
    CREATE INDEX audit_by_thread ON ${name} (thread_id);
    CREATE INDEX audit_by_time ON ${name} (at);`;
}
