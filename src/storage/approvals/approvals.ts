import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';
import { auditStatement } from '../audit/audit-log.ts';
import type { Database, Row } from '../database/database.ts';
import { literal, sql, where, type Sql } from '../database/sql.ts';
import { checkRecord, Name, toJsonText } from '../database/values.ts';
import {
  ApprovalRequest,
  Decision,
  sha256Of,
  STATUS_AFTER,
  STATUSES,
  type Approval,
  type ApprovalStatus,
  type Claim,
} from './approval.ts';
import { isAllowed, notAllowed, notClaimed, notFound, undecidable } from './errors.ts';
import { allowedCode, toApproval } from './table.ts';

const MAX_PAYLOAD_BYTES = 4 << 20;
const MAX_OUTCOME_BYTES = 64 << 10;
const MAX_LISTED = 1000;

/** The actor of entries that no person caused. */
const CLOCK = 'vivarium';

const Filter = z.strictObject({
  status: z.enum(STATUSES).optional(),
  threadId: Name.optional(),
  limit: z.int().positive().max(MAX_LISTED).default(100),
});
export type ApprovalFilter = z.input<typeof Filter>;

const LeaseMs = z
  .int()
  .nonnegative()
  .max(7 * 86_400_000);

/**
 * Approvals in a database. Each change is one compare-and-set, so if several processes try, exactly one succeeds. It is
 * written in one transaction with its entry in the audit log.
 */
export class Approvals {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Requests an approval. Repeating the request, as a node does that runs again after a crash, returns the existing one. */
  async create(input: ApprovalRequest): Promise<Approval> {
    const request = checkRecord(ApprovalRequest, input);
    const { threadId, checkpointNs, requestId, attempt, code, requestedBy, expiresInMs } = request;
    const codeSha256 = sha256Of(code);
    const identity = identityOf(request);
    const payload = toJsonText(request.payload, { what: 'The payload', maxBytes: MAX_PAYLOAD_BYTES });
    const { now } = this.#database;
    await this.#change(
      sql`INSERT INTO ${this.#table} (id, identity, thread_id, checkpoint_ns, request_id, attempt, code, code_sha256,
          payload, requested_by, created_at, expires_at, status)
        VALUES (${randomUUID()}, ${identity}, ${threadId}, ${checkpointNs}, ${requestId}, ${attempt}, ${code},
          ${codeSha256}, ${payload}, ${requestedBy}, ${now}, ${now} + CAST(${expiresInMs} AS BIGINT), 'pending')
        ON CONFLICT (identity) DO NOTHING RETURNING ${this.#columns}`,
      { actor: requestedBy, action: 'requested' },
    );
    return this.#find(sql`identity = ${identity}`, identity);
  }

  /** The approval that an identical request created before, or null. */
  async find(
    input: Pick<ApprovalRequest, 'threadId' | 'checkpointNs' | 'requestId' | 'attempt' | 'code'>,
  ): Promise<Approval | null> {
    const identity = identityOf(checkRecord(ApprovalRequest, { ...input, requestedBy: CLOCK }));
    const [row] = await this.#database.query(
      sql`SELECT ${this.#columns} FROM ${this.#table} WHERE identity = ${identity}`,
    );
    return row === undefined ? null : toApproval(row);
  }

  async get(id: string): Promise<Approval> {
    return this.#find(sql`id = ${knownForm(id)}`, id);
  }

  /** Oldest first, so that the longest waiting come first. */
  async list(filter: ApprovalFilter = {}): Promise<Approval[]> {
    const { status, threadId, limit } = checkRecord(Filter, filter);
    const conditions = [
      status === undefined ? undefined : this.#hasStatus(status),
      threadId === undefined ? undefined : sql`thread_id = ${threadId}`,
    ];
    const rows = await this.#database.query(
      sql`SELECT ${this.#columns} FROM ${this.#table}${where(conditions)} ORDER BY created_at, id LIMIT ${limit}`,
    );
    return rows.map(toApproval);
  }

  /** Decides a pending approval. The first decision counts; later ones throw an error that names it and its author. */
  async decide(id: string, decision: Decision, { by }: { readonly by: string }): Promise<Approval> {
    const decided = checkRecord(Decision, decision);
    const actor = checkRecord(Name, by);
    const status = STATUS_AFTER[decided.type];
    const editedSha256 = decided.type === 'edit' ? sha256Of(decided.code) : null;
    const allowedSha256 = isAllowed(status) ? sql`COALESCE(${editedSha256}, code_sha256)` : literal('NULL');
    const [approval] = await this.#change(
      sql`UPDATE ${this.#table}
        SET status = ${status}, decided_by = ${actor}, decided_at = ${this.#database.now},
          decision = ${JSON.stringify(decided)}, allowed_sha256 = ${allowedSha256}
        WHERE id = ${knownForm(id)} AND ${this.#hasStatus('pending')} RETURNING ${this.#columns}`,
      { actor, action: status, details: decisionDetails(decided, editedSha256) },
    );
    if (approval !== undefined) return approval;
    await this.#expire(sql`id = ${id}`);
    throw undecidable(await this.get(id));
  }

  /**
   * Claims the right to run approved code. An approval grants it once. All later claims learn whether that run is still
   * running, has finished, or may have died with its owner. `owner` names this one attempt, not a process.
   */
  async claimExecution(id: string, owner: string, leaseMs: number): Promise<Claim> {
    const claimer = checkRecord(Name, owner);
    const lease = checkRecord(LeaseMs, leaseMs);
    const seen = await this.get(id);
    if (!isAllowed(seen.status)) throw notAllowed(seen);
    const allowed = allowedCode(seen);
    const { now } = this.#database;
    const [approval] = await this.#change(
      sql`UPDATE ${this.#table}
        SET run_owner = ${claimer}, run_claimed_at = ${now}, run_lease_until = ${now} + CAST(${lease} AS BIGINT)
        WHERE id = ${id} AND status IN ('approved', 'edited') AND run_owner IS NULL RETURNING ${this.#columns}`,
      { actor: claimer, action: 'claimed', details: { leaseMs: lease } },
    );
    if (approval !== undefined) return { status: 'claimed', ...allowed, approval };
    const current = await this.get(id);
    if (current.run === null) throw notAllowed(current);
    return { status: current.run.status, run: current.run, approval: current };
  }

  /** Reports that the owner is alive. Returns false if the lease is over: others may have seen the run as unknown. */
  async renewClaim(id: string, owner: string, leaseMs: number): Promise<boolean> {
    const { now } = this.#database;
    const rows = await this.#database.query(
      sql`UPDATE ${this.#table} SET run_lease_until = ${now} + CAST(${checkRecord(LeaseMs, leaseMs)} AS BIGINT)
        WHERE id = ${knownForm(id)} AND run_owner = ${checkRecord(Name, owner)} AND run_finished_at IS NULL
          AND run_lease_until > ${now} RETURNING id`,
    );
    return rows.length === 1;
  }

  /** Stores how the run ended. The owner may call it late or repeatedly; the first outcome counts. */
  async finish(id: string, owner: string, outcome: Json): Promise<Approval> {
    const encoded = toJsonText(outcome, { what: 'The outcome', maxBytes: MAX_OUTCOME_BYTES });
    const [approval] = await this.#change(
      sql`UPDATE ${this.#table} SET run_finished_at = ${this.#database.now}, run_outcome = ${encoded}
        WHERE id = ${knownForm(id)} AND run_owner = ${checkRecord(Name, owner)} AND run_finished_at IS NULL
        RETURNING ${this.#columns}`,
      { actor: owner, action: 'finished', details: { outcome } },
    );
    if (approval !== undefined) return approval;
    const current = await this.get(id);
    if (current.run?.owner !== owner) throw notClaimed(current, owner);
    return current;
  }

  /** Expires every approval whose time is over, by the database's clock unless another time is given. */
  async expire(now?: Date): Promise<Approval[]> {
    return this.#expire(literal('1 = 1'), now);
  }

  /** Expires the pending approvals of a thread whose request no longer needs them. */
  async withdraw(threadId: string, reason: string): Promise<Approval[]> {
    const { now } = this.#database;
    return this.#change(
      sql`UPDATE ${this.#table} SET status = 'expired', expires_at = ${now}
        WHERE thread_id = ${checkRecord(Name, threadId)} AND status = 'pending' RETURNING ${this.#columns}`,
      { actor: CLOCK, action: 'expired', details: { reason } },
    );
  }

  async #expire(condition: Sql, now?: Date): Promise<Approval[]> {
    const time = now === undefined ? this.#database.now : sql`CAST(${now.getTime()} AS BIGINT)`;
    return this.#change(
      sql`UPDATE ${this.#table} SET status = 'expired'
        WHERE ${condition} AND status = 'pending' AND expires_at <= ${time} RETURNING ${this.#columns}`,
      { actor: CLOCK, action: 'expired' },
    );
  }

  /** Changes approvals and logs it, or does neither. */
  async #change(
    statement: Sql,
    entry: { readonly actor: string; readonly action: string; readonly details?: Details },
  ): Promise<Approval[]> {
    const follow = (row: Row): Sql => {
      const { id: approvalId, threadId, codeSha256, payload, decision, run } = toApproval(row);
      const concerned = run === null ? codeSha256 : (decision?.codeSha256 ?? codeSha256); // a run is of the approved code, which may be edited
      const details = withMode(entry.details ?? null, payload);
      return auditStatement(this.#database, { ...entry, details, approvalId, threadId, codeSha256: concerned });
    };
    return (await this.#database.change(statement, follow)).map(toApproval);
  }

  async #find(condition: Sql, id: string): Promise<Approval> {
    const statement = sql`SELECT ${this.#columns} FROM ${this.#table} WHERE ${condition}`;
    const [row] = await this.#database.query(statement);
    if (row === undefined) throw notFound(id);
    return toApproval(row);
  }

  get #table(): Sql {
    return this.#database.tables.approvals;
  }

  get #columns(): Sql {
    return sql`*, ${this.#database.now} AS now`;
  }

  /** A pending approval whose time is over counts as expired, even before the table says so. */
  #hasStatus(status: ApprovalStatus): Sql {
    const { now } = this.#database;
    if (status === 'pending') return sql`status = 'pending' AND (expires_at IS NULL OR expires_at > ${now})`;
    if (status === 'expired') return sql`(status = 'expired' OR (status = 'pending' AND expires_at <= ${now}))`;
    return sql`status = ${status}`;
  }
}

/** Two requests with the same identity are for the same approval. */
function identityOf({ threadId, checkpointNs, requestId, code, attempt }: z.infer<typeof ApprovalRequest>): string {
  return sha256Of(JSON.stringify([threadId, checkpointNs, requestId, sha256Of(code), attempt]));
}

/** Ids come from outside, and some texts would make PostgreSQL fail. */
function knownForm(id: string): string {
  if (!/^[0-9a-f-]{36}$/.test(id)) throw notFound(id);
  return id;
}

type Details = Readonly<Record<string, Json>> | null;

const Asked = z.object({ resume_payload: z.object({ execution_mode: z.string().max(100) }) });

/** Adds the mode in which the code would run, if the payload has it. */
function withMode(details: Details, payload: Json): Details {
  const asked = Asked.safeParse(payload).data;
  return asked === undefined ? details : { mode: asked.resume_payload.execution_mode, ...details };
}

function decisionDetails(decision: Decision, editedSha256: string | null): Details {
  switch (decision.type) {
    case 'approve':
      return null;
    case 'edit':
      return { editedSha256, reason: decision.reason ?? null };
    case 'reject':
      return { reason: decision.reason ?? null };
    case 'respond':
      return { text: decision.text };
  }
}
