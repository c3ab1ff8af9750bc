/** The tables in PostgreSQL, one text for each version that there has been. */
import type { PoolClient } from 'pg';
import { VivariumError } from '../../errors.ts';
import { approvalsTable } from '../approvals/table.ts';
import { auditTable } from '../audit/audit-log.ts';

/** Everything of ours lies in a schema of its own, beside whatever else the database holds. */
export const SCHEMA = 'vivarium';

/** Any number will do, as long as all who migrate use the same. */
const MIGRATION_LOCK = 0x76_69_76_61;

const AUDIT_GUARDS = `
  CREATE FUNCTION ${SCHEMA}.refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit log only grows'; END $$;
  CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON ${SCHEMA}.audit
    FOR EACH ROW EXECUTE FUNCTION ${SCHEMA}.refuse_audit_change();
  CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON ${SCHEMA}.audit
    FOR EACH STATEMENT EXECUTE FUNCTION ${SCHEMA}.refuse_audit_change();`;

const VERSIONS = [
  approvalsTable(`${SCHEMA}.approvals`) +
    auditTable(`${SCHEMA}.audit`, 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY') +
    AUDIT_GUARDS,
];

/**
 * Brings the tables up to date, those of LangGraph through `setUpCheckpoints`, which uses another connection and is not
 * safe when two do it at once. Of processes that start at once one does it, the others wait and find it done.
 */
export async function migratePostgres(client: PoolClient, setUpCheckpoints: () => Promise<void>): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await setUpCheckpoints(); // makes the schema as well
    await client.query(`CREATE TABLE IF NOT EXISTS ${SCHEMA}.version (number INTEGER NOT NULL)`);
    const { rows } = await client.query<{ number: number }>(`SELECT number FROM ${SCHEMA}.version`);
    const found = rows[0]?.number ?? 0;
    if (found > VERSIONS.length) throw tooNew(found);
    for (const statements of VERSIONS.slice(found)) await client.query(statements);
    if (rows.length === 0) await client.query(`INSERT INTO ${SCHEMA}.version VALUES ($1)`, [VERSIONS.length]);
    else await client.query(`UPDATE ${SCHEMA}.version SET number = $1`, [VERSIONS.length]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined); // the connection may be gone, and the transaction with it
    throw error;
  }
}

function tooNew(found: number): VivariumError {
  return new VivariumError(
    'STORAGE_FAILED',
    `The PostgreSQL database has tables of version ${found}; this Vivarium knows versions up to ${VERSIONS.length}, so a newer one made them. Use that one, or another database.`,
  );
}
