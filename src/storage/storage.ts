import path from 'node:path';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { VivariumError } from '../errors.ts';
import { Approvals } from './approvals/approvals.ts';
import { AuditLog } from './audit/audit-log.ts';
import type { Backend } from './database/database.ts';
import { openPostgres } from './postgres/open.ts';
import { openSqlite } from './sqlite/database.ts';

/** State that outlives a process. Several processes can have the same storage open; with PostgreSQL, several machines. */
export interface Storage extends AsyncDisposable {
  /** LangGraph's state. Run graphs with `durability: "sync"`, or a crash may lose the last step. */
  readonly checkpointer: BaseCheckpointSaver;
  readonly approvals: Approvals;
  readonly audit: AuditLog;
  /** Can be called repeatedly and concurrently. */
  close(): Promise<void>;
}

/** Opens PostgreSQL by URL, or an SQLite file by path. Creates missing files and tables. */
export async function openStorage(urlOrPath: string): Promise<Storage> {
  if (/^postgres(ql)?:\/\//i.test(urlOrPath)) return storageOn(await openPostgres(urlOrPath));
  if (urlOrPath !== '' && !/^[a-z][a-z0-9+.-]+:/i.test(urlOrPath))
    return storageOn(await openSqlite(path.resolve(urlOrPath)));
  throw new VivariumError(
    'CONFIG_INVALID',
    `Cannot open storage at ${JSON.stringify(urlOrPath.replace(/\/\/[^@/]*@/, '//…@'))}. Give the path of a file for SQLite, or a URL that begins with postgres:// for PostgreSQL.`,
  );
}

/** The default location of the storage. */
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
