import { isDeepStrictEqual } from 'node:util';
import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  maxChannelVersion,
  TASKS,
  WRITES_IDX_MAP,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type PendingWrite,
} from '@langchain/langgraph-checkpoint';
import { checkpointConfig, readKey, requireId, type CheckpointKey } from './checkpoint-key.ts';
import { CheckpointRows, type CheckpointRow, type Typed } from './checkpoint-rows.ts';
import type { SqliteFile } from './file.ts';

type BareCheckpoint = Omit<Checkpoint, 'channel_values'>;

/** Stores LangGraph's checkpoints in an SQLite file. A channel's value is stored when it changes, not at every step. */
export class SqliteSaver extends BaseCheckpointSaver {
  readonly #rows: CheckpointRows;

  constructor(file: SqliteFile) {
    super();
    this.#rows = new CheckpointRows(file);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const key = readKey(config);
    if (key.threadId === undefined) return undefined;
    const row = await this.#rows.find(key.threadId, key.namespace ?? '', key.checkpointId);
    return row === undefined ? undefined : this.#load(row);
  }

  override async *list(
    config: RunnableConfig,
    { limit = Infinity, before, filter = {} }: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const beforeId = before === undefined ? undefined : readKey(before).checkpointId;
    let remaining = limit;
    for (const summary of await this.#rows.summaries(readKey(config), beforeId)) {
      if (remaining <= 0) return;
      const metadata = (await this.#decode(summary.metadata)) as Record<string, unknown>;
      if (!Object.entries(filter).every(([name, value]) => isDeepStrictEqual(metadata[name], value))) continue;
      const row = await this.#rows.find(summary.threadId, summary.namespace, summary.checkpointId);
      if (row === undefined) continue; // deleted in the meantime
      remaining -= 1;
      yield await this.#load(row);
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const key = requireId('thread_id', readKey(config), 'threadId');
    const { channel_values: values, ...bare } = checkpoint;
    const changed = Object.entries(newVersions).filter(([channel]) => Object.hasOwn(values, channel));
    const channels = changed.map(async ([channel, version]) => {
      return { channel, version: String(version), value: await this.#encode(values[channel]) };
    });
    const written = {
      checkpoint: await this.#encode(bare),
      metadata: await this.#encode(metadata),
      channels: await Promise.all(channels),
    };
    const namespace = key.namespace ?? '';
    const parentId = key.checkpointId ?? null;
    await this.#rows.put({ threadId: key.threadId, namespace, checkpointId: checkpoint.id, parentId, ...written });
    return checkpointConfig(key.threadId, namespace, checkpoint.id);
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const key = requireId('checkpoint_id', requireId('thread_id', readKey(config), 'threadId'), 'checkpointId');
    const rows = await Promise.all(
      writes.map(async ([channel, value], index) => {
        return { position: WRITES_IDX_MAP[channel] ?? index, channel, value: await this.#encode(value) };
      }),
    );
    // Errors and interrupts may change. Other writes stay as they were when a task runs again.
    const isReplacing = writes.every(([channel]) => channel in WRITES_IDX_MAP);
    const { threadId, namespace = '', checkpointId } = key;
    await this.#rows.putWrites({ threadId, namespace, checkpointId, taskId, rows, isReplacing });
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.#rows.deleteThread(threadId);
  }

  async #load(row: CheckpointRow): Promise<CheckpointTuple> {
    const { threadId, namespace, checkpointId, parentId } = row;
    const rows = await this.#rows.writes(row);
    const writes = rows.map(async ({ taskId, channel, value }): Promise<CheckpointPendingWrite> => {
      return [taskId, channel, await this.#decode(value)];
    });
    return {
      config: checkpointConfig(threadId, namespace, checkpointId),
      checkpoint: await this.#loadCheckpoint(row),
      metadata: (await this.#decode(row.metadata)) as CheckpointMetadata,
      ...(parentId === null ? {} : { parentConfig: checkpointConfig(threadId, namespace, parentId) }),
      pendingWrites: await Promise.all(writes),
    };
  }

  async #loadCheckpoint(row: CheckpointRow): Promise<Checkpoint> {
    const bare = (await this.#decode(row.checkpoint)) as BareCheckpoint;
    const stored = Object.entries(bare.channel_versions).map(async ([channel, version]) => {
      const value = await this.#rows.channelValue(row, channel, String(version));
      return value === undefined ? [] : [[channel, await this.#decode(value)] as const];
    });
    const checkpoint = { ...bare, channel_values: Object.fromEntries((await Promise.all(stored)).flat()) };
    return bare.v < 4 && row.parentId !== null ? this.#withPendingSends(checkpoint, row, row.parentId) : checkpoint;
  }

  /** Before version 4, messages to nodes were among the writes of the parent checkpoint, not in a channel. */
  async #withPendingSends(checkpoint: Checkpoint, row: CheckpointKey, parentId: string): Promise<Checkpoint> {
    const rows = await this.#rows.writes({ ...row, checkpointId: parentId });
    const writes = rows.filter(({ channel }) => channel === TASKS);
    const versions = Object.values(checkpoint.channel_versions);
    const version = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
    return {
      ...checkpoint,
      channel_values: {
        ...checkpoint.channel_values,
        [TASKS]: await Promise.all(writes.map(({ value }) => this.#decode(value))),
      },
      channel_versions: { ...checkpoint.channel_versions, [TASKS]: version },
    };
  }

  async #encode(value: unknown): Promise<Typed> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    return { type, bytes };
  }

  async #decode({ type, bytes }: Typed): Promise<unknown> {
    return this.serde.loadsTyped(type, bytes);
  }
}
