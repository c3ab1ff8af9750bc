/** The tables of the SQLite file: one text per schema version. */
import { VivariumError } from '../../errors.ts';
import { approvalsTable } from '../approvals/table.ts';
import { auditTable } from '../audit/audit-log.ts';
import type { SqliteFile } from './file.ts';

const CHECKPOINTS = `
  CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL,
    checkpoint_id TEXT NOT NULL,
    parent_id TEXT,
    type TEXT NOT NULL,
    checkpoint BLOB NOT NULL,
    metadata_type TEXT NOT NULL,
    metadata BLOB NOT NULL,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
  ) STRICT;
  CREATE TABLE channel_values (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL,
    channel TEXT NOT NULL,
    version TEXT NOT NULL,
    type TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (thread_id, checkpoint_ns, channel, version)
  ) STRICT;
  CREATE TABLE pending_writes (
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL,
    checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    channel TEXT NOT NULL,
    type TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, position)
  ) STRICT;`;

const REFUSE = `BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END`;

// The last trigger is for `INSERT OR REPLACE`, which removes a row without firing the delete trigger.
const AUDIT_TRIGGERS = `
  CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit ${REFUSE};
  CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit ${REFUSE};
  CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit
    WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id) ${REFUSE};`;

const VERSIONS = [
  approvalsTable('approvals') + auditTable('audit', 'INTEGER PRIMARY KEY AUTOINCREMENT') + AUDIT_TRIGGERS + CHECKPOINTS,
];

const VERSION = 'PRAGMA user_version';

/** Brings the tables up to date. If several processes start together, one migrates and the others wait for it. */
export async function migrateSqlite(file: SqliteFile): Promise<void> {
  if (versionIn(await file.all(VERSION, [])) === VERSIONS.length) return; // nothing to do, and no lock to wait for
  await file.transact((run, execute) => {
    const found = versionIn(run(VERSION, []));
    if (found > VERSIONS.length) throw tooNew(file.path, found);
    for (const statements of VERSIONS.slice(found)) execute(statements);
    execute(`PRAGMA user_version = ${VERSIONS.length}`);
  });
}

function versionIn([row]: Awaited<ReturnType<SqliteFile['all']>>): number {
  return Number(row?.['user_version']);
}

function tooNew(path: string, found: number): VivariumError {
  return new VivariumError(
    'STORAGE_FAILED',
    `${path} has schema version ${found}, but this Vivarium supports versions up to ${VERSIONS.length}: a newer Vivarium created it. Use that version, or another file.`,
  );
}
