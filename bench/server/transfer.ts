/** A large file, up and down again. */
import type { Readable } from 'node:stream';
import { connect } from '../../src/remote/connect.ts';
import { expect, type Bench } from '../bench.ts';
import { time } from '../measure.ts';
import { forgetPeak, residentBytes } from '../processes.ts';
import { showMb, showMs, type Row } from '../report.ts';
import { startOwn } from './server-process.ts';

const BYTES = { quick: 100e6, full: 1e9 };
const CHUNK_BYTES = 1 << 16;
const GROWTH_BYTES = 64 << 20;
const ROOM_MB = 4096;
const WARM_UP_BYTES = 20e6;

export async function measureTransfer(bench: Bench): Promise<Row[]> {
  const bytes = BYTES[bench.isQuick ? 'quick' : 'full'];
  await using server = await startOwn(bench, 1);
  const { url, adminKey, pid } = server;
  await using host = await connect(url, { key: adminKey });
  await using session = await host.createSession({ limits: { fileMb: ROOM_MB, workspaceMb: ROOM_MB } });
  const upload = async (size: number): Promise<void> => {
    expect((await session.files.upload('large', pieces(size))).sizeBytes, size, 'bytes that were uploaded');
  };
  const download = async (size: number): Promise<void> => {
    expect(await count(await session.files.download('large')), size, 'bytes that were downloaded');
  };
  await upload(WARM_UP_BYTES);
  await download(WARM_UP_BYTES);
  forgetPeak(pid);
  const before = residentBytes(pid).now;
  const uploadMs = await time(() => upload(bytes));
  const downloadMs = await time(() => download(bytes));
  const growthBytes = residentBytes(pid).peak - before;
  const rate = (ms: number): string => `${showMs(ms)} (${(bytes / 1e6 / (ms / 1000)).toFixed(0)} MB/s)`;
  return [
    {
      what: `${bytes / 1e6} MB uploaded to a session over HTTP, and downloaded`,
      ours: `up ${rate(uploadMs)}, down ${rate(downloadMs)}; server ${showMb(before)}, grew by at most ${showMb(growthBytes)}`,
      hold: `grows by ≤ ${showMb(GROWTH_BYTES)}`,
      held: growthBytes <= GROWTH_BYTES,
      data: { bytes, uploadMs, downloadMs, before, growthBytes },
    },
  ];
}

async function* pieces(size: number): AsyncGenerator<Uint8Array, void, undefined> {
  const piece = Buffer.alloc(CHUNK_BYTES, 'vivarium');
  for (let left = size; left > 0; left -= CHUNK_BYTES) yield left < CHUNK_BYTES ? piece.subarray(0, left) : piece;
}

async function count(stream: Readable): Promise<number> {
  let size = 0;
  for await (const chunk of stream) size += (chunk as Buffer).length;
  return size;
}
