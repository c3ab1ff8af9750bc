/** LangGraph's own checkpointer for PostgreSQL, whose failures are told as all others of the storage are. */
import type { RunnableConfig } from '@langchain/core/runnables';
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  PendingWrite,
} from '@langchain/langgraph-checkpoint';
import type { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import type { Pool } from 'pg';
import type { PostgresDatabase } from './database.ts';
import { SCHEMA } from './schema.ts';

/** The class is given, not imported: the package that has it may be absent. */
export function createSaver(Base: typeof PostgresSaver, pool: Pool, database: PostgresDatabase): PostgresSaver {
  class GuardedSaver extends Base {
    override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
      return database.guard(() => super.getTuple(config));
    }

    override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
      const tuples = super.list(config, options);
      for (;;) {
        const next = await database.guard(() => tuples.next());
        if (next.done === true) return;
        yield next.value;
      }
    }

    override async put(
      config: RunnableConfig,
      checkpoint: Checkpoint,
      metadata: CheckpointMetadata,
      newVersions: ChannelVersions,
    ): Promise<RunnableConfig> {
      return database.guard(() => super.put(config, checkpoint, metadata, newVersions));
    }

    override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
      return database.guard(() => super.putWrites(config, writes, taskId));
    }

    override async deleteThread(threadId: string): Promise<void> {
      return database.guard(() => super.deleteThread(threadId));
    }
  }
  return new GuardedSaver(pool, undefined, { schema: SCHEMA });
}
