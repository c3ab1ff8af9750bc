import type { Database, Row, Backend } from '../database/database.ts';
import { literal, type Sql } from '../database/sql.ts';
import { SqliteFile } from './file.ts';
import { SqliteSaver } from './saver.ts';
import { migrateSqlite } from './schema.ts';

/** An SQLite file as the database of approvals and the audit log. */
class SqliteDatabase implements Database {
  readonly tables = { approvals: literal('approvals'), audit: literal('audit') };
  readonly now = literal(`CAST(unixepoch('subsec') * 1000 AS INTEGER)`);
  readonly #file: SqliteFile;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  async query(statement: Sql): Promise<Row[]> {
    return this.#file.all(textOf(statement), statement.values);
  }

  async change(statement: Sql, follow: (row: Row) => Sql): Promise<Row[]> {
    return this.#file.transact((run) => {
      const rows = run(textOf(statement), statement.values);
      for (const next of rows.map(follow)) run(textOf(next), next.values);
      return rows;
    });
  }
}

function textOf(statement: Sql): string {
  return statement.render(() => '?');
}

/** Opens the file at `path`. Creates the file and its tables if they are missing. */
export async function openSqlite(path: string): Promise<Backend> {
  using stack = new DisposableStack();
  const file = stack.use(await SqliteFile.open(path));
  await migrateSqlite(file);
  const opened = stack.move(); // the caller owns it from here on
  return {
    database: new SqliteDatabase(file),
    checkpointer: new SqliteSaver(file),
    close: async () => opened.dispose(),
  };
}
