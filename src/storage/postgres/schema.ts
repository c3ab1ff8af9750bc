/** The tables in PostgreSQL: one text per schema version. */
import type { PoolClient } from 'pg';
import { VivariumError } from '../../errors.ts';
import { approvalsTable } from '../approvals/table.ts';
import { auditTable } from '../audit/audit-log.ts';

/** All tables are in a schema of their own, apart from whatever else the database holds. */
export const SCHEMA = 'vivarium';

/** An arbitrary number, the same for every process that migrates. */
const MIGRATION_LOCK = 0x76_69_76_61;

const AUDIT_TRIGGERS = `
  CREATE FUNCTION ${SCHEMA}.refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit log only grows'; END $$;
  CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON ${SCHEMA}.audit
    FOR EACH ROW EXECUTE FUNCTION ${SCHEMA}.refuse_audit_change();
  CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON ${SCHEMA}.audit
    FOR EACH STATEMENT EXECUTE FUNCTION ${SCHEMA}.refuse_audit_change();`;

const VERSIONS = [
  approvalsTable(`${SCHEMA}.approvals`) +
    auditTable(`${SCHEMA}.audit`, 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY') +
    AUDIT_TRIGGERS,
];

/**
 * Brings the tables up to date. `setUpCheckpoints` does so for LangGraph's tables; it uses another connection and is not
 * safe to run concurrently. If several processes start together, one migrates and the others wait for it.
 */
export async function migratePostgres(client: PoolClient, setUpCheckpoints: () => Promise<void>): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await setUpCheckpoints(); // also creates the schema
    await client.query(`CREATE TABLE IF NOT EXISTS ${SCHEMA}.version (number INTEGER NOT NULL)`);
    const { rows } = await client.query<{ number: number }>(`SELECT number FROM ${SCHEMA}.version`);
    const found = rows[0]?.number ?? 0;
    if (found > VERSIONS.length) throw tooNew(found);
    for (const statements of VERSIONS.slice(found)) await client.query(statements);
    if (rows.length === 0) await client.query(`INSERT INTO ${SCHEMA}.version VALUES ($1)`, [VERSIONS.length]);
    else await client.query(`UPDATE ${SCHEMA}.version SET number = $1`, [VERSIONS.length]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined); // a lost connection has rolled back already
    throw error;
  }
}

function tooNew(found: number): VivariumError {
  return new VivariumError(
    'STORAGE_FAILED',
    `The PostgreSQL database has schema version ${found}, but this Vivarium supports versions up to ${VERSIONS.length}: a newer Vivarium created it. Use that version, or another database.`,
  );
}
