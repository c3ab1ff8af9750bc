/** Parquet files are common, so the threads that Arrow keeps for them must not cost a session its twin. */
import { expect, test } from 'vitest';
import { createHost } from '../../src/index.ts';

test('a session that has read a Parquet file survives a crash, and reads it again', async () => {
  await using host = await createHost({ poolSize: 0 });
  await using session = await host.createSession();
  const read = await session.runCode(`
import os, pandas as pd
pd.DataFrame({'a': range(100_000)}).to_parquet('data.parquet')
table = pd.read_parquet('data.parquet')
len(os.listdir('/proc/self/task')) > 1`);
  expect(read.results[0]?.data['text/plain']).toBe('True'); // otherwise this test proves nothing
  expect(read.state).not.toHaveProperty('unprotected');
  await session.runCode('total = int(table.a.sum())');
  expect((await session.runCode('os._exit(1)')).state.status).toBe('restored');
  const again = await session.runCode(`int(pd.read_parquet('data.parquet').a.sum()) == total == 4_999_950_000`);
  expect(again.results[0]?.data['text/plain']).toBe('True');
});

test('a thread of the program beside those of Arrow is still seen', async () => {
  await using host = await createHost({ poolSize: 0 });
  await using session = await host.createSession();
  const { state } = await session.runCode(`
import pandas as pd, pyarrow, threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()`);
  expect(state.unprotected).toMatch(/live thread/);
});
