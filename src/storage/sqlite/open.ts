import type { Backend } from '../database.ts';
import { SqliteDatabase } from './database.ts';
import { SqliteFile } from './file.ts';
import { SqliteSaver } from './saver.ts';
import { migrateSqlite } from './schema.ts';

/** Opens the file at `path`, and makes it and its tables if they are missing. */
export async function openSqlite(path: string): Promise<Backend> {
  using stack = new DisposableStack();
  const file = stack.use(await SqliteFile.open(path));
  migrateSqlite(file);
  const opened = stack.move(); // migrated: the caller owns it now
  return {
    database: new SqliteDatabase(file),
    checkpointer: new SqliteSaver(file),
    close: async () => opened.dispose(),
  };
}
