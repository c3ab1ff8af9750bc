import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { ProtocolViolation } from '../../hostile-json.ts';
import { encodeFrame, FrameReader, readFrames, type Frame } from './frames.ts';

/** A frame as a worker writes it, which may have bytes behind its header. */
function frame(header: string, payload = ''): Buffer {
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(Buffer.byteLength(header), 0);
  lengths.writeUInt32BE(Buffer.byteLength(payload), 4);
  return Buffer.concat([lengths, Buffer.from(header), Buffer.from(payload)]);
}

const shown = ({ header, payload }: Frame): [unknown, string] => [header, payload.toString()];

function readAll(reader: FrameReader, chunks: Iterable<Buffer>): [unknown, string][] {
  const found: [unknown, string][] = [];
  for (const chunk of chunks) reader.push(chunk, (each) => found.push(shown(each)));
  return found;
}

/** What buffers hold that are still in use. */
async function keptBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  for (let round = 0; round < 3; round += 1) {
    await new Promise(setImmediate);
    collectGarbage();
  }
  return process.memoryUsage().arrayBuffers;
}

/** Cuts bytes at random places. The same seed gives the same pieces. */
function* piecesOf(bytes: Buffer, seed: number, most: number): Generator<Buffer> {
  let state = seed;
  for (let start = 0; start < bytes.length;) {
    state = (state * 48_271) % 2_147_483_647;
    const end = start + (state % (most + 1));
    yield bytes.subarray(start, end);
    start = end;
  }
}

const FRAMES: readonly [header: unknown, payload: string][] = [
  [{ type: 'a' }, ''],
  [{ type: 'b', text: 'ż🐍' }, 'bytes \0 behind it'],
  [[], ''],
  ['text', '\u0000\u0000\u0000\u0002\u0000\u0000\u0000\u0000{}'], // looks like another frame
  [null, 'x'.repeat(5000)],
  [{}, ''],
];
const STREAM = Buffer.concat(FRAMES.map(([header, payload]) => frame(JSON.stringify(header), payload)));

test('what is encoded is read back, whatever characters it has', () => {
  for (const header of [{}, { a: [1, 'ż🐍', null] }, { text: '\u0000\n"' }, { long: 'ż'.repeat(100_000) }]) {
    expect(readAll(new FrameReader(), [encodeFrame(header)])).toEqual([[header, '']]);
  }
});

test('frames come out the same wherever the stream is cut in two', () => {
  const small = STREAM.subarray(0, 120);
  const expected = readAll(new FrameReader(), [small]);
  expect(expected).toHaveLength(4);
  for (let cut = 0; cut <= small.length; cut += 1) {
    expect(readAll(new FrameReader(), [small.subarray(0, cut), small.subarray(cut)]), `cut at ${cut}`).toEqual(
      expected,
    );
  }
});

test('frames come out the same from any chunks, even from single bytes and empty ones', () => {
  expect(readAll(new FrameReader(), [STREAM])).toEqual(FRAMES);
  expect(readAll(new FrameReader(), piecesOf(STREAM, 1, 1))).toEqual(FRAMES);
  for (let seed = 1; seed <= 50; seed += 1) {
    expect(readAll(new FrameReader(), piecesOf(STREAM, seed, 3 ** (seed % 8))), `seed ${seed}`).toEqual(FRAMES);
  }
});

test('a frame comes out with its last byte, and not before', () => {
  const reader = new FrameReader();
  const bytes = frame('{"a":1}', 'payload');
  expect(readAll(reader, [bytes.subarray(0, -1)])).toEqual([]);
  expect(readAll(reader, [bytes.subarray(-1)])).toEqual([[{ a: 1 }, 'payload']]);
});

test('1 MiB is the most that a header may have, and 8 MiB what follows it', () => {
  const claim = (header: number, payload: number): Buffer => {
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32BE(header, 0);
    lengths.writeUInt32BE(payload, 4);
    return lengths;
  };
  const [header, payload] = [1 << 20, 8 << 20];
  expect(readAll(new FrameReader(), [claim(header, payload)])).toEqual([]); // it waits for the rest
  for (const [more, behind] of [
    [header + 1, 0],
    [0, payload + 1],
    [0xff_ff_ff_ff, 0xff_ff_ff_ff],
  ] as const) {
    const expected = new ProtocolViolation(`a frame of ${more} and ${behind} bytes`);
    expect(() => readAll(new FrameReader(), [claim(more, behind)])).toThrow(expected);
    expect(() => readAll(new FrameReader(), piecesOf(claim(more, behind), 1, 1))).toThrow(expected);
  }
  expect(readAll(new FrameReader({ maxHeaderBytes: header + 1 }), [claim(header + 1, 0)])).toEqual([]);
});

test('the largest frame is read from many chunks in little time', () => {
  const payload = 'x'.repeat(8 << 20);
  const startedAt = performance.now();
  const [only] = readAll(new FrameReader(), piecesOf(frame('{}', payload), 1, 8192));
  expect(only?.[1].length).toBe(payload.length);
  expect(performance.now() - startedAt).toBeLessThan(2000);
});

test.for([
  ['an empty header', ''],
  ['text that is not JSON', '{'],
  ['a header that is too deep', `${'['.repeat(65)}${']'.repeat(65)}`],
])('%s breaks the protocol, and the frames before it have come out', ([, header]) => {
  const found: unknown[] = [];
  const bytes = Buffer.concat([frame('1'), frame('2'), frame(header ?? ''), frame('3')]);
  expect(() => new FrameReader().push(bytes, (each) => found.push(each.header))).toThrow(ProtocolViolation);
  expect(found).toEqual([1, 2]);
});

test('a listener that throws has received its frame, and the next push goes on behind it', () => {
  const reader = new FrameReader();
  const seen: unknown[] = [];
  const grumble = ({ header }: Frame): void => {
    seen.push(header);
    throw new Error('enough');
  };
  const bytes = Buffer.concat([frame('1'), frame('2')]);
  expect(() => reader.push(bytes, grumble)).toThrow('enough');
  reader.push(frame('3'), (each) => seen.push(each.header));
  expect(seen).toEqual([1, 2, 3]);
});

test('after a breach nothing is read and nothing kept until a token comes', async () => {
  const reader = new FrameReader();
  expect(() => readAll(reader, [Buffer.alloc(8, 0xff)])).toThrow(ProtocolViolation);
  reader.breakOff();
  const before = await keptBytes();
  const startedAt = performance.now();
  for (let count = 0; count < 2000; count += 1) expect(readAll(reader, [Buffer.alloc(65_536, 1)])).toEqual([]);
  expect(performance.now() - startedAt).toBeLessThan(2000);
  expect((await keptBytes()) - before).toBeLessThan(1 << 20);
  void reader.skipTo(TOKEN);
  expect(readAll(reader, [Buffer.from('garbage'), TOKEN, frame('2')])).toEqual([[2, '']]);
});

const TOKEN = Buffer.from('00112233445566778899aabbccddeeff', 'hex');

test('everything up to a token is dropped, wherever it is cut and whatever comes before it', async () => {
  const befores = [
    Buffer.alloc(0),
    frame('{"half":"a frame"}').subarray(0, 12),
    Buffer.alloc(8, 0xff), // would break the protocol
    TOKEN.subarray(0, 15),
    Buffer.concat([TOKEN.subarray(0, 8), TOKEN.subarray(0, 15)]),
  ];
  for (const before of befores) {
    const bytes = Buffer.concat([before, TOKEN, frame('{"new":1}')]);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const reader = new FrameReader();
      const skipped = reader.skipTo(TOKEN);
      const found = readAll(reader, [bytes.subarray(0, cut), bytes.subarray(cut)]);
      expect(found, `cut at ${cut}`).toEqual([[{ new: 1 }, '']]);
      await skipped;
    }
  }
});

test('half a frame that came before the skip began is dropped with the rest', () => {
  const reader = new FrameReader();
  expect(readAll(reader, [frame('{"old":1}').subarray(0, 10)])).toEqual([]);
  void reader.skipTo(TOKEN);
  expect(readAll(reader, [Buffer.from('garbage'), TOKEN, frame('2')])).toEqual([[2, '']]);
});

test('while a token is awaited nothing comes out, little is kept, and the promise stays open', async () => {
  const reader = new FrameReader();
  let isSkipped = false;
  const skipped = reader.skipTo(TOKEN).then(() => (isSkipped = true));
  for (let count = 0; count < 1000; count += 1) expect(readAll(reader, [frame('{"ignored":1}')])).toEqual([]);
  await new Promise(setImmediate);
  expect(isSkipped).toBe(false);
  expect(readAll(reader, [TOKEN])).toEqual([]);
  await skipped;
  expect(readAll(reader, [frame('1')])).toEqual([[1, '']]);
});

/** Both ends of a real connection. */
async function connectionPair(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [near] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return { near, far };
}

test('frames are read from a socket until one breaks the protocol, which is reported', async () => {
  const { near, far } = await connectionPair();
  const seen: unknown[] = [];
  const violation = Promise.withResolvers<ProtocolViolation>();
  readFrames(near, new FrameReader(), { frame: ({ header }) => seen.push(header), violation: violation.resolve });
  for (const piece of piecesOf(Buffer.concat([encodeFrame({ a: 1 }), frame('[2]'), frame('oops')]), 3, 5)) {
    far.write(piece);
  }
  expect(await violation.promise).toMatchObject({ name: 'ProtocolViolation', message: 'text that is not JSON' });
  expect(seen).toEqual([{ a: 1 }, [2]]);
});

test('a violation that the listener finds is reported like one of the reader', async () => {
  const { near, far } = await connectionPair();
  const violation = Promise.withResolvers<ProtocolViolation>();
  readFrames(near, new FrameReader(), {
    frame: () => {
      throw new ProtocolViolation('a frame out of turn');
    },
    violation: violation.resolve,
  });
  far.write(encodeFrame({}));
  expect((await violation.promise).message).toBe('a frame out of turn');
});

test('a flood of frames lets others have their turn', async () => {
  const { near, far } = await connectionPair();
  const done = Promise.withResolvers<void>();
  let [seen, turns] = [0, 0];
  const timer = setInterval(() => {
    if (seen > 0) turns += 1;
  }, 1);
  onTestFinished(() => clearInterval(timer));
  const busyFor = (ms: number): void => {
    for (const until = performance.now() + ms; performance.now() < until;);
  };
  readFrames(near, new FrameReader(), {
    frame: () => {
      seen += 1;
      if (seen % 100 === 0) busyFor(10); // a chunk of 64 KiB holds 64 of them
      if (seen === 4000) done.resolve();
    },
    violation: done.reject,
  });
  far.write(Buffer.concat(Array.from({ length: 4000 }, () => frame('{}', 'x'.repeat(1014)))));
  await done.promise;
  expect(turns).toBeGreaterThan(5); // it takes 400 ms, and none if all is read at once
});

test('a frame that makes its listener fail is reported as a violation, and the process lives on', async () => {
  const { near, far } = await connectionPair();
  const violation = Promise.withResolvers<ProtocolViolation>();
  readFrames(near, new FrameReader(), {
    frame: () => {
      throw new RangeError('Invalid string length');
    },
    violation: violation.resolve,
  });
  far.write(encodeFrame({}));
  expect(await violation.promise).toMatchObject({
    message: 'a frame that could not be handled (RangeError)',
    cause: { message: 'Invalid string length' },
  });
});
