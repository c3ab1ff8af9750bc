import type { SQLOutputValue } from 'node:sqlite';
import type { CheckpointKey } from './checkpoint-key.ts';
import type { SqliteFile } from './file.ts';

/** A value as LangGraph's serializer writes it: bytes, and the type needed to read them. */
export interface Typed {
  readonly type: string;
  readonly bytes: Uint8Array;
}

export interface CheckpointRow extends CheckpointKey {
  readonly parentId: string | null;
  readonly checkpoint: Typed;
  readonly metadata: Typed;
}

type CheckpointSummary = CheckpointKey & Pick<CheckpointRow, 'metadata'>;

interface NewCheckpoint extends CheckpointRow {
  readonly channels: readonly { readonly channel: string; readonly version: string; readonly value: Typed }[];
}

interface NewWrites extends CheckpointKey {
  readonly taskId: string;
  readonly rows: readonly { readonly position: number; readonly channel: string; readonly value: Typed }[];
  readonly isReplacing: boolean;
}

interface WriteRow {
  readonly taskId: string;
  readonly channel: string;
  readonly value: Typed;
}

type SqlRow = Record<string, SQLOutputValue>;

const TABLES = ['checkpoints', 'channel_values', 'pending_writes'] as const;
const OF_CHECKPOINT = 'thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?';

/** The three tables of checkpoints. They are strict, so their values have the declared types. */
export class CheckpointRows {
  readonly #file: SqliteFile;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  /** The named checkpoint, or the newest one. Ids grow with time. */
  async find(
    threadId: string,
    namespace: string,
    checkpointId: string | undefined,
  ): Promise<CheckpointRow | undefined> {
    const newest = 'thread_id = ? AND checkpoint_ns = ? ORDER BY checkpoint_id DESC LIMIT 1';
    const [condition, values] =
      checkpointId === undefined
        ? [newest, [threadId, namespace]]
        : [OF_CHECKPOINT, [threadId, namespace, checkpointId]];
    const [row] = await this.#file.all(`SELECT * FROM checkpoints WHERE ${condition}`, values);
    return row === undefined ? undefined : toCheckpoint(row);
  }

  /** Newest first, without contents. */
  async summaries(
    key: { readonly [Part in keyof CheckpointKey]?: string | undefined },
    beforeId?: string,
  ): Promise<CheckpointSummary[]> {
    const conditions = [
      ['thread_id = ?', key.threadId],
      ['checkpoint_ns = ?', key.namespace],
      ['checkpoint_id = ?', key.checkpointId],
      ['checkpoint_id < ?', beforeId],
    ] as const;
    const given = conditions.flatMap(([text, value]) => (value === undefined ? [] : [{ text, value }]));
    const condition = ['1 = 1', ...given.map(({ text }) => text)].join(' AND ');
    const rows = await this.#file.all(
      `SELECT thread_id, checkpoint_ns, checkpoint_id, metadata_type, metadata FROM checkpoints
       WHERE ${condition} ORDER BY checkpoint_id DESC`,
      given.map(({ value }) => value),
    );
    return rows.map(toSummary);
  }

  async channelValue(
    { threadId, namespace }: CheckpointKey,
    channel: string,
    version: string,
  ): Promise<Typed | undefined> {
    const [row] = await this.#file.all(
      'SELECT type, value FROM channel_values WHERE thread_id = ? AND checkpoint_ns = ? AND channel = ? AND version = ?',
      [threadId, namespace, channel, version],
    );
    return row === undefined ? undefined : typed(row['type'], row['value']);
  }

  /** In the order of writing. */
  async writes({ threadId, namespace, checkpointId }: CheckpointKey): Promise<WriteRow[]> {
    const rows = await this.#file.all(
      `SELECT task_id, channel, type, value FROM pending_writes WHERE ${OF_CHECKPOINT} ORDER BY rowid`,
      [threadId, namespace, checkpointId],
    );
    return rows.map((row) => ({
      taskId: String(row['task_id']),
      channel: String(row['channel']),
      value: typed(row['type'], row['value']),
    }));
  }

  async put(row: NewCheckpoint): Promise<void> {
    const { threadId, namespace, checkpointId, parentId, checkpoint, metadata, channels } = row;
    await this.#file.transact((run) => {
      for (const { channel, version, value } of channels) {
        run('INSERT OR IGNORE INTO channel_values VALUES (?, ?, ?, ?, ?, ?)', [
          threadId,
          namespace,
          channel,
          version,
          value.type,
          value.bytes,
        ]);
      }
      run('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?)', [
        threadId,
        namespace,
        checkpointId,
        parentId,
        checkpoint.type,
        checkpoint.bytes,
        metadata.type,
        metadata.bytes,
      ]);
    });
  }

  async putWrites({ threadId, namespace, checkpointId, taskId, rows, isReplacing }: NewWrites): Promise<void> {
    const verb = isReplacing ? 'REPLACE' : 'IGNORE';
    await this.#file.transact((run) => {
      for (const { position, channel, value } of rows) {
        run(`INSERT OR ${verb} INTO pending_writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, [
          threadId,
          namespace,
          checkpointId,
          taskId,
          position,
          channel,
          value.type,
          value.bytes,
        ]);
      }
    });
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#file.transact((run) => {
      for (const table of TABLES) run(`DELETE FROM ${table} WHERE thread_id = ?`, [threadId]);
    });
  }
}

function toCheckpoint(row: SqlRow): CheckpointRow {
  const { parent_id, type, checkpoint } = row;
  return {
    ...toSummary(row),
    parentId: parent_id === null ? null : String(parent_id),
    checkpoint: typed(type, checkpoint),
  };
}

function toSummary({ thread_id, checkpoint_ns, checkpoint_id, metadata_type, metadata }: SqlRow): CheckpointSummary {
  return {
    threadId: String(thread_id),
    namespace: String(checkpoint_ns),
    checkpointId: String(checkpoint_id),
    metadata: typed(metadata_type, metadata),
  };
}

function typed(type: SQLOutputValue | undefined, bytes: SQLOutputValue | undefined): Typed {
  return { type: String(type), bytes: bytes as Uint8Array };
}
