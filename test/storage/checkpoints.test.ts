/** What LangGraph's own suite does not test of a checkpointer. */
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import { expect, test } from 'vitest';
import { describeBackends, opened } from './backends.ts';

const BYTES = Uint8Array.from({ length: 256 }, (_, index) => 255 - index);
const METADATA = { source: 'loop', step: 0, parents: {} } as const;

describeBackends(({ name, fresh, query }) => {
  test('bytes come back as they were, from channels and from pending writes', async () => {
    const { checkpointer } = await opened(await fresh());
    const stored = await checkpointer.put(thread('t'), checkpoint({ picture: BYTES }), METADATA, { picture: 1 });
    await checkpointer.putWrites(
      stored,
      [
        ['picture', BYTES],
        ['empty', new Uint8Array()],
      ],
      uuid6(0),
    );
    const tuple = await checkpointer.getTuple(thread('t'));
    expect(bytesOf(tuple?.checkpoint.channel_values['picture'])).toEqual([...BYTES]);
    expect(tuple?.pendingWrites?.map(([, channel, value]) => [channel, bytesOf(value)])).toEqual([
      ['picture', [...BYTES]],
      ['empty', []],
    ]);
  });

  test('a channel that does not change is stored once, however many steps there are', async () => {
    const place = await fresh();
    const { checkpointer } = await opened(place);
    const large = 'x'.repeat(100_000);
    let config = await checkpointer.put(thread('t'), checkpoint({ large }), METADATA, { large: 1 });
    for (let step = 1; step < 20; step += 1) {
      config = await checkpointer.put(config, checkpoint({ large }), { ...METADATA, step }, {});
    }
    expect((await checkpointer.getTuple(config))?.checkpoint.channel_values).toEqual({ large });
    const table = name === 'SQLite' ? 'channel_values' : 'vivarium.checkpoint_blobs';
    expect(await query(place, `SELECT channel FROM ${table}`)).toHaveLength(1);
  });

  test('a step that is stored twice, as after a crash, is there once', async () => {
    const { checkpointer } = await opened(await fresh());
    const step = checkpoint({ a: 1 });
    await checkpointer.put(thread('t'), step, METADATA, { a: 1 });
    await checkpointer.put(thread('t'), step, METADATA, { a: 1 });
    expect(await Array.fromAsync(checkpointer.list(thread('t')))).toHaveLength(1);
  });

  test('storages of one process that write at the same time do not block each other', async () => {
    const place = await fresh();
    const storages = await Promise.all([opened(place), opened(place), opened(place)]);
    const writing = storages.flatMap(({ checkpointer, audit }, index) =>
      Array.from({ length: 20 }, async (_, step) => {
        await checkpointer.put(thread(`${index}-${step}`), checkpoint({ step }), METADATA, { step: 1 });
        await audit.append({ actor: `${index}`, action: 'tried' });
      }),
    );
    await Promise.all(writing);
    expect(await storages[0]?.audit.list({ limit: 100 })).toHaveLength(60);
  });

  test('a storage that is closed says so, and may be closed again', async () => {
    const storage = await opened(await fresh());
    await Promise.all([storage.close(), storage.close()]);
    await expect(storage.approvals.list()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    await expect(storage.checkpointer.getTuple(thread('t'))).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  });
});

/** PostgreSQL returns a `Buffer`, which is also a `Uint8Array`. */
function bytesOf(value: unknown): number[] {
  return value instanceof Uint8Array ? [...value] : [];
}

function thread(id: string) {
  return { configurable: { thread_id: id, checkpoint_ns: '' } };
}

function checkpoint(values: Record<string, unknown>) {
  const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, 1]));
  return { ...emptyCheckpoint(), id: uuid6(0), channel_values: values, channel_versions: versions };
}
