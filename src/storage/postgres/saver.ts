/** LangGraph's own checkpointer for PostgreSQL, with failures turned into `STORAGE_FAILED`. */
import type { RunnableConfig } from '@langchain/core/runnables';
import type { CheckpointListOptions, CheckpointTuple, PendingWrite } from '@langchain/langgraph-checkpoint';
import type { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import type { Pool } from 'pg';
import type { PostgresDatabase } from './database.ts';
import { SCHEMA } from './schema.ts';

/** The class is a parameter, not an import, because its package is optional. */
export function createSaver(Base: typeof PostgresSaver, pool: Pool, database: PostgresDatabase): PostgresSaver {
  class TranslatingSaver extends Base {
    override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
      return database.translatingErrors(() => super.getTuple(config));
    }

    override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
      const tuples = super.list(config, options);
      for (;;) {
        const next = await database.translatingErrors(() => tuples.next());
        if (next.done === true) return;
        yield next.value;
      }
    }

    override async put(...call: Parameters<PostgresSaver['put']>): Promise<RunnableConfig> {
      return database.translatingErrors(() => super.put(...call));
    }

    override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
      return database.translatingErrors(() => super.putWrites(config, writes, taskId));
    }

    override async deleteThread(threadId: string): Promise<void> {
      return database.translatingErrors(() => super.deleteThread(threadId));
    }
  }
  return new TranslatingSaver(pool, undefined, { schema: SCHEMA });
}
