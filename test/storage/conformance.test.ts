/** LangGraph's own suite for checkpointers, on both databases. */
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import * as vitest from 'vitest';
import { openStorage, type Storage } from '../../src/storage/storage.ts';
import { describeBackends } from './backends.ts';

// The suite expects vitest's functions on the global object. Only this file's process sees them there.
Object.assign(globalThis, vitest);
const { deltaChannelHistoryTests, validate } = await import('@langchain/langgraph-checkpoint-validation');

describeBackends((backend) => {
  const storages = new Map<BaseCheckpointSaver, Storage>();
  const suite = {
    checkpointerName: `The checkpointer on ${backend.name}`,
    createCheckpointer: async () => {
      const storage = await openStorage(await backend.fresh());
      storages.set(storage.checkpointer, storage);
      return storage.checkpointer;
    },
    destroyCheckpointer: async (checkpointer: BaseCheckpointSaver) => storages.get(checkpointer)?.close(),
  };
  validate(suite);
  deltaChannelHistoryTests(suite);
});
