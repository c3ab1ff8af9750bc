import { spawn } from 'node:child_process';
import { once } from 'node:events';

const PROGRAM = `
  import { DatabaseSync } from 'node:sqlite';
  const database = new DatabaseSync(process.argv[1], { timeout: 60_000 });
  database.exec('BEGIN EXCLUSIVE');
  process.stdout.write('locked');
  process.stdin.once('data', () => {
    database.exec('ROLLBACK');
    database.close();
    process.stdin.destroy();
  });
`;

/**
 * Has another process hold the lock of an SQLite file until disposed. It creates the file if it is missing. A file in WAL
 * mode can still be read.
 */
export async function lockDatabase(file: string): Promise<AsyncDisposable> {
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', PROGRAM, file];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const locked = once(child.stdout, 'data');
  await Promise.race([
    locked,
    exited.then(() => {
      throw new Error(`The process that was to lock ${file} has ended.`);
    }),
  ]);
  return {
    async [Symbol.asyncDispose]() {
      child.stdin.end('release');
      await exited;
    },
  };
}
