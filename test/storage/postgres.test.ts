/** What can go wrong with a remote server. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openStorage } from '../../src/storage/storage.ts';
import { queryPostgres } from '../support/postgres/postgres.ts';
import { describePostgres, opened } from './backends.ts';

const run = promisify(execFile);
const STORAGE = path.join(import.meta.dirname, '../../src/storage/storage.ts');
const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'vivarium' AND datname = current_database()`;

test('without its packages the message says what to install', async () => {
  const program = `
    import { registerHooks } from 'node:module';
    registerHooks({ resolve: (name, context, next) => next(name === 'pg' ? 'pg-that-is-not-there' : name, context) });
    const { openStorage } = await import(${JSON.stringify(STORAGE)});
    await openStorage('postgres://localhost/x').catch(({ code, message }) => console.log(code, message));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  expect(stdout).toMatch(/^PACKAGE_MISSING .*npm install pg@~8.23.1 @langchain\/langgraph-checkpoint-postgres@~1.0.5/);
});

test('a server that is not there is named, its password is not', async () => {
  const opening = openStorage('postgres://ada:secret@127.0.0.1:1/things');
  await expect(opening).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  await expect(opening).rejects.toThrow('PostgreSQL at 127.0.0.1:1/things failed');
  await expect(opening).rejects.not.toThrow('secret');
});

test('a URL that cannot be read is not shown', async () => {
  const opening = openStorage('postgres://ada:secret@[broken/things');
  await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(opening).rejects.not.toThrow('secret');
});

describePostgres(({ fresh }) => {
  test('connections that are cut fail what they carry, and are replaced', async () => {
    const url = await fresh();
    const { approvals, checkpointer } = await opened(url);
    await Promise.all([approvals.list(), approvals.list(), approvals.list()]);
    await queryPostgres(url, CUT);
    const failures: unknown[] = [];
    while (failures.length < 10) {
      try {
        await approvals.list();
        break;
      } catch (error) {
        failures.push(error);
      }
    }
    expect(failures.length).toBeLessThan(10);
    for (const failure of failures) expect(failure).toMatchObject({ code: 'STORAGE_FAILED' });
    expect(await checkpointer.getTuple({ configurable: { thread_id: 't' } })).toBeUndefined();
  });

  test('a checkpoint that cannot be read is a failure of the storage', async () => {
    const url = await fresh();
    const { checkpointer } = await opened(url);
    await queryPostgres(url, 'DROP TABLE vivarium.checkpoints');
    const config = { configurable: { thread_id: 't' } };
    await expect(checkpointer.getTuple(config)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    await expect(Array.fromAsync(checkpointer.list(config))).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  });

  test('everything lies in a schema of its own', async () => {
    const url = await fresh();
    await opened(url);
    const rows = await queryPostgres(
      url,
      `SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname !~ '^(pg_|information_)'`,
    );
    expect(rows).toEqual([{ schemaname: 'vivarium' }]);
  });

  test('tables of a newer version are not touched', async () => {
    const url = await fresh();
    await (await openStorage(url)).close();
    await queryPostgres(url, 'UPDATE vivarium.version SET number = 99');
    await expect(openStorage(url)).rejects.toThrow(/version 99.*a newer Vivarium created it/);
    expect(await queryPostgres(url, 'SELECT number FROM vivarium.version')).toEqual([{ number: 99 }]);
  });

  test('a user who may not make tables is told so', async () => {
    const url = await fresh();
    await queryPostgres(url, 'CREATE ROLE guest LOGIN');
    await expect(openStorage(url.replace('vivarium@', 'guest@'))).rejects.toThrow(/permission denied.*may create/);
  });

  test('a process that closes its storage ends at once', async () => {
    const program = `const { openStorage } = await import(${JSON.stringify(STORAGE)});
      const storage = await openStorage(${JSON.stringify(await fresh())}); await storage.close(); console.log(Date.now());`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
    expect(Date.now() - Number(stdout)).toBeLessThan(3000);
  });
});
