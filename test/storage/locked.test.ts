/** An SQLite file that another process has locked is waited for, and the event loop goes on meanwhile. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint';
import { expect, onTestFinished, test } from 'vitest';
import { openStorage, type Storage } from '../../src/storage/storage.ts';
import { longestDelay } from '../support/faults/event-loop.ts';
import { lockDatabase } from '../support/faults/locked-database.ts';

const CONFIG = { configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id: 'c' } };

const WRITES: Record<string, (storage: Storage) => Promise<unknown>> = {
  'an audit entry': ({ audit }) => audit.append({ actor: 'a', action: 'refused' }),
  'an approval': ({ approvals }) =>
    approvals.create({ threadId: randomUUID(), requestId: 'r', attempt: 1, code: '1', requestedBy: 'agent' }),
  'a checkpoint': ({ checkpointer }) =>
    checkpointer.put(CONFIG, emptyCheckpoint(), { source: 'input', step: 0, parents: {} }, {}),
  'the writes of a task': ({ checkpointer }) => checkpointer.putWrites(CONFIG, [['channel', 1]], 'task'),
};

function place(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'locked-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return path.join(directory, 'storage.sqlite');
}

test.for(Object.entries(WRITES))('%s is written when the lock is released', async ([, write]) => {
  const file = place();
  await using storage = await openStorage(file);
  const lock = await lockDatabase(file);
  const late = await longestDelay(async () => {
    const writing = write(storage);
    await new Promise((resolve) => setTimeout(resolve, 300)); // the lock is held for a while
    await lock[Symbol.asyncDispose]();
    await writing;
  });
  expect(late).toBeLessThan(50);
});

test('while it is locked it can be opened and read, and a write fails after ten seconds with a remedy', async () => {
  const file = place();
  await using before = await openStorage(file);
  await before.audit.append({ actor: 'a', action: 'refused' });
  await using _ = await lockDatabase(file);
  await using storage = await openStorage(file);
  expect(await storage.audit.list()).toHaveLength(1);
  const late = await longestDelay(async () => {
    const writing = storage.audit.append({ actor: 'b', action: 'refused' });
    await expect(writing).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    await expect(writing).rejects.toThrow(/locked.*Try again, or use PostgreSQL/);
  });
  expect(late).toBeLessThan(50);
});
