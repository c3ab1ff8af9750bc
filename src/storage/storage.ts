import path from 'node:path';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { VivariumError } from '../errors.ts';
import { Approvals } from './approvals/approvals.ts';
import { AuditLog } from './audit/audit-log.ts';
import type { Backend } from './database/database.ts';
import { openPostgres } from './postgres/open.ts';
import { openSqlite } from './sqlite/database.ts';

/** What must outlive a process. Several may have the same storage open, on PostgreSQL several machines too. */
export interface Storage extends AsyncDisposable {
  /** LangGraph's state. Run graphs with `durability: "sync"`, else a crash may lose what the last step did. */
  readonly checkpointer: BaseCheckpointSaver;
  readonly approvals: Approvals;
  readonly audit: AuditLog;
  /** May be called twice, and at once. */
  close(): Promise<void>;
}

/** Opens PostgreSQL by its URL, or an SQLite file by its path; makes what is missing. */
export async function openStorage(urlOrPath: string): Promise<Storage> {
  if (/^postgres(ql)?:\/\//i.test(urlOrPath)) return storageOn(await openPostgres(urlOrPath));
  if (urlOrPath !== '' && !/^[a-z][a-z0-9+.-]+:/i.test(urlOrPath))
    return storageOn(await openSqlite(path.resolve(urlOrPath)));
  throw new VivariumError(
    'CONFIG_INVALID',
    `There is no storage at ${JSON.stringify(urlOrPath.replace(/\/\/[^@/]*@/, '//…@'))}. Give the path of a file for SQLite, or a URL that begins with postgres:// for PostgreSQL.`,
  );
}

/** Where storage lies unless somebody says otherwise. */
export function defaultStoragePath(dataDir: string): string {
  return path.join(dataDir, 'vivarium.sqlite');
}

function storageOn({ database, checkpointer, close }: Backend): Storage {
  let closing: Promise<void> | undefined;
  const closeOnce = (): Promise<void> => (closing ??= close());
  return {
    checkpointer,
    approvals: new Approvals(database),
    audit: new AuditLog(database),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}
