import { z } from 'zod';
import type { Json } from '../../execution/execution.ts';
import type { Database, Row } from '../database/database.ts';
import { sql, where, type Sql } from '../database/sql.ts';
import { checkRecord, Name, toJsonText } from '../database/values.ts';

const MAX_DETAILS_BYTES = 256 << 10;
const MAX_LISTED = 1000;

/** What happened, in one word: `requested`, `approved`, `claimed`, `executed`, `finished`, `refused`, … */
const Action = z
  .string()
  .regex(/^[a-z]+(-[a-z]+)*$/, 'must be lower case words joined by "-"')
  .max(64);

const NewEntry = z.strictObject({
  actor: Name,
  action: Action,
  approvalId: Name.optional(),
  threadId: Name.optional(),
  codeSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower case hex')
    .optional(),
  details: z.custom<Json>((value) => value !== undefined, 'must be JSON').default(null),
});
/** An entry to append. The database adds the time. */
export type NewAuditEntry = z.input<typeof NewEntry>;

/** Who did what, when. */
export interface AuditEntry {
  readonly id: number;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly approvalId: string | null;
  readonly threadId: string | null;
  readonly codeSha256: string | null;
  readonly details: Json;
}

const Filter = z.strictObject({
  actor: Name.optional(),
  action: Action.optional(),
  approvalId: Name.optional(),
  threadId: Name.optional(),
  since: z.date().optional(),
  until: z.date().optional(),
});
/** `since` is inclusive, `until` exclusive. */
export type AuditFilter = z.input<typeof Filter>;

const Page = z.strictObject({
  afterId: z.int().nonnegative().default(0),
  limit: z.int().positive().max(MAX_LISTED).default(100),
});

const EntryRow = z.object({
  id: z.coerce.number(),
  at: z.coerce.number(),
  actor: z.string(),
  action: z.string(),
  approval_id: z.string().nullable(),
  thread_id: z.string().nullable(),
  code_sha256: z.string().nullable(),
  details: z.string(),
});

/** The log of who did what. It is append-only: the database itself refuses to change or remove an entry. */
export class AuditLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async append(entry: NewAuditEntry): Promise<AuditEntry> {
    const [row = {}] = await this.#database.query(auditStatement(this.#database, entry));
    return toEntry(row);
  }

  /** In the order of writing. A page starts after `afterId`, the last id of the page before. */
  async list(filter: AuditFilter & z.input<typeof Page> = {}): Promise<AuditEntry[]> {
    const { afterId, limit, ...rest } = filter;
    const page = checkRecord(Page, { afterId, limit });
    const condition = where([sql`id > ${page.afterId}`, ...conditions(checkRecord(Filter, rest))]);
    const rows = await this.#database.query(
      sql`SELECT * FROM ${this.#database.tables.audit}${condition} ORDER BY id LIMIT ${page.limit}`,
    );
    return rows.map(toEntry);
  }

  /** One line of JSON per entry, read page by page, so that a long log needs little memory. */
  async *exportJsonl(filter: AuditFilter = {}): AsyncGenerator<string, void, undefined> {
    for (let afterId = 0; ;) {
      const page = await this.list({ ...filter, afterId, limit: MAX_LISTED });
      for (const entry of page) yield `${JSON.stringify(entry)}\n`;
      if (page.length < MAX_LISTED) return;
      afterId = page.at(-1)?.id ?? Infinity;
    }
  }
}

/** The statement that appends an entry, to be run in one transaction with the change that it logs. */
export function auditStatement({ tables, now }: Database, entry: NewAuditEntry): Sql {
  const { actor, action, approvalId, threadId, codeSha256, details } = checkRecord(NewEntry, entry);
  const encoded = toJsonText(details, { what: 'The details of an audit entry', maxBytes: MAX_DETAILS_BYTES });
  return sql`INSERT INTO ${tables.audit} (at, actor, action, approval_id, thread_id, code_sha256, details)
    VALUES (${now}, ${actor}, ${action}, ${approvalId ?? null}, ${threadId ?? null}, ${codeSha256 ?? null}, ${encoded})
    RETURNING *`;
}

function conditions({ actor, action, approvalId, threadId, since, until }: AuditFilter): (Sql | undefined)[] {
  return [
    actor === undefined ? undefined : sql`actor = ${actor}`,
    action === undefined ? undefined : sql`action = ${action}`,
    approvalId === undefined ? undefined : sql`approval_id = ${approvalId}`,
    threadId === undefined ? undefined : sql`thread_id = ${threadId}`,
    since === undefined ? undefined : sql`at >= ${since.getTime()}`,
    until === undefined ? undefined : sql`at < ${until.getTime()}`,
  ];
}

function toEntry(row: Row): AuditEntry {
  const { id, at, actor, action, approval_id, thread_id, code_sha256, details } = EntryRow.parse(row);
  return {
    id,
    at: new Date(at),
    actor,
    action,
    approvalId: approval_id,
    threadId: thread_id,
    codeSha256: code_sha256,
    details: JSON.parse(details) as Json,
  };
}

/** Creates the table, in SQL that both databases understand. */
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
