import type { Database, Row } from '../database.ts';
import { literal, type Sql } from '../sql.ts';
import type { SqliteFile } from './file.ts';

/** An SQLite file as the approvals and the audit log see it. */
export class SqliteDatabase implements Database {
  readonly tables = { approvals: literal('approvals'), audit: literal('audit') };
  readonly now = literal(`CAST(unixepoch('subsec') * 1000 AS INTEGER)`);
  readonly #file: SqliteFile;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  async query(statement: Sql): Promise<Row[]> {
    return this.#run(statement);
  }

  async change(statement: Sql, follow: (row: Row) => Sql): Promise<Row[]> {
    return this.#file.transact(() => {
      const rows = this.#run(statement);
      for (const row of rows) this.#run(follow(row));
      return rows;
    });
  }

  #run(statement: Sql): Row[] {
    return this.#file.all(
      statement.render(() => '?'),
      statement.values,
    );
  }
}
