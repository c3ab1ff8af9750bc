import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { MARK_BYTES, Marks } from './marks.ts';
import { OutputPipe } from './output-pipe.ts';

/** A pipe, the session's end of it, and what a run has received. */
async function startPipe() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
  const [near] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => {
    far.destroy();
    near.destroy();
    server.close();
  });
  const marks = new Marks();
  const pipe = new OutputPipe(near, marks.prefix);
  const received: string[] = [];
  const begin = (opening: number | null = null): number => {
    const mark = marks.next();
    pipe.begin(mark, opening, (text) => received.push(text));
    return mark;
  };
  const markOf = (number: number): Buffer => Buffer.from(marks.textOf(number), 'hex');
  /** Sends bytes, each chunk on its own, and waits until they were read. */
  const send = async (...chunks: readonly (string | Buffer)[]): Promise<void> => {
    for (const chunk of chunks) {
      const target = near.bytesRead + Buffer.byteLength(chunk);
      far.write(chunk);
      await expect.poll(() => near.bytesRead, { interval: 1 }).toBeGreaterThanOrEqual(target);
    }
  };
  return { pipe, near, far, marks, begin, markOf, send, text: () => received.join('') };
}

test('what comes before the mark is the output of the run, and the mark is not', async () => {
  const { pipe, begin, markOf, send, text } = await startPipe();
  const mark = begin();
  const complete = pipe.complete();
  await send('hello ', Buffer.concat([Buffer.from('world'), markOf(mark)]));
  await complete;
  expect(text()).toBe('hello world');
  expect(pipe.end()).toBe(11);
  expect(pipe.takeBackgroundBytes()).toBe(0);
});

test('a mark is seen wherever it is cut in two', async () => {
  const { pipe, begin, markOf, send, text } = await startPipe();
  for (let cut = 0; cut <= MARK_BYTES; cut += 1) {
    const before = text();
    const mark = markOf(begin());
    await send(Buffer.concat([Buffer.from(`cut ${cut};`), mark.subarray(0, cut)]));
    if (cut < MARK_BYTES) await send(mark.subarray(cut));
    await pipe.complete();
    expect(text().slice(before.length), `cut at ${cut}`).toBe(`cut ${cut};`);
    expect(pipe.end()).toBe(`cut ${cut};`.length);
  }
  expect(pipe.takeBackgroundBytes()).toBe(0);
});

test('a mark that comes byte by byte is seen, and so is text that begins like one', async () => {
  const { pipe, begin, markOf, send } = await startPipe();
  const mark = markOf(begin());
  const lookalike = Buffer.concat([mark.subarray(0, 11), Buffer.from([mark.readUInt8(11) ^ 1])]);
  for (const byte of Buffer.concat([lookalike, mark])) await send(Buffer.from([byte]));
  await pipe.complete();
  expect(pipe.end()).toBe(lookalike.length);
});

test('the beginning of a mark is held back until it is known not to be one', async () => {
  const { pipe, begin, markOf, send } = await startPipe();
  const mark = markOf(begin());
  await send(Buffer.concat([Buffer.from('text'), mark.subarray(0, 5)]));
  expect(pipe.runBytes).toBe(4);
  await send('no mark');
  expect(pipe.runBytes).toBe(4 + 5 + 7);
});

test('bytes that were held back when the run ends still belong to it', async () => {
  const { pipe, begin, markOf, send } = await startPipe();
  const mark = markOf(begin());
  await send(Buffer.concat([Buffer.from('text'), mark.subarray(0, 5)]));
  expect(pipe.end()).toBe(9);
});

test('marks of earlier runs end what belongs to those, which is only counted', async () => {
  const { pipe, marks, begin, markOf, send, text } = await startPipe();
  const [old, opening] = [marks.next(), marks.next()];
  const mark = begin(opening);
  const complete = pipe.complete();
  await send(Buffer.concat([Buffer.from('old'), markOf(old), Buffer.from('older'), markOf(opening)]));
  await send(Buffer.concat([Buffer.from('mine'), markOf(mark)]));
  await complete;
  expect(text()).toBe('mine');
  expect(pipe.end()).toBe(4);
  expect(pipe.takeBackgroundBytes()).toBe('oldolder'.length);
});

test('its own mark does not end a run that has not been opened yet', async () => {
  const { pipe, marks, begin, markOf, send, text } = await startPipe();
  const opening = marks.next();
  const mark = begin(opening);
  let isComplete = false;
  const complete = pipe.complete().then(() => (isComplete = true));
  await send(Buffer.concat([Buffer.from('forged'), markOf(mark)]));
  expect(isComplete).toBe(false);
  await send(Buffer.concat([markOf(opening), Buffer.from('real'), markOf(mark)]));
  await complete;
  expect(text()).toBe('real');
  expect(pipe.takeBackgroundBytes()).toBe('forged'.length);
});

test('a mark with another number is output of no run, and does not end this one', async () => {
  const { pipe, begin, markOf, send, text } = await startPipe();
  const mark = begin();
  const complete = pipe.complete();
  await send(Buffer.concat([Buffer.from('of before'), markOf(0xff_ff_ff_ff), Buffer.from('mine'), markOf(mark)]));
  await complete;
  expect(text()).toBe('mine');
  expect(pipe.takeBackgroundBytes()).toBe('of before'.length);
});

test('what follows the mark belongs to no run', async () => {
  const { pipe, begin, markOf, send, text } = await startPipe();
  const mark = begin();
  expect(pipe.isDirty).toBe(false);
  await send(Buffer.concat([Buffer.from('mine'), markOf(mark), Buffer.from('late')]));
  await pipe.complete();
  expect(pipe.isDirty).toBe(true);
  pipe.end();
  await send('later');
  expect(text()).toBe('mine');
  expect(pipe.takeBackgroundBytes()).toBe('latelater'.length);
  expect(pipe.takeBackgroundBytes()).toBe(0);
  begin();
  expect(pipe.isDirty).toBe(false);
});

test('characters that are cut arrive whole, and half of one at the end is replaced', async () => {
  const { pipe, begin, send, text } = await startPipe();
  begin();
  const snake = Buffer.from('🐍');
  for (const byte of snake) await send(Buffer.from([byte]));
  await send(snake.subarray(0, 2));
  expect(text()).toBe('🐍');
  expect(pipe.end()).toBe(6);
  expect(text()).toBe('🐍\ufffd');
});

test('half a character of one run does not spoil the next', async () => {
  const { pipe, begin, markOf, send, text } = await startPipe();
  const first = begin();
  await send(Buffer.concat([Buffer.from('ż').subarray(0, 1), markOf(first)]));
  await pipe.complete();
  pipe.end();
  const before = text();
  begin();
  await send('clean');
  expect(text().slice(before.length)).toBe('clean');
});

test('a program that prints without end between runs has to wait, and the next run lets it go on', async () => {
  const { pipe, near, far, begin, send } = await startPipe();
  await send(Buffer.alloc(65 << 10));
  await expect.poll(() => near.isPaused()).toBe(true);
  expect(pipe.isHeldUp).toBe(false); // nobody waits for it
  far.write(Buffer.alloc(1 << 20));
  begin();
  expect(near.isPaused()).toBe(false);
  await expect.poll(() => pipe.runBytes).toBeGreaterThanOrEqual(1 << 20);
});

test('64 KB between runs are read, the next byte pauses', async () => {
  const { pipe, near, send } = await startPipe();
  await send(Buffer.alloc(64 << 10));
  expect(pipe.takeBackgroundBytes()).toBe(64 << 10);
  expect(near.isPaused()).toBe(false);
  await send('x');
  await expect.poll(() => near.isPaused()).toBe(true);
});

test('output that a slow consumer does not take is held up, and all of it comes later', async () => {
  const { pipe, far, begin } = await startPipe();
  begin();
  pipe.pause();
  expect(pipe.isHeldUp).toBe(true);
  far.write(Buffer.alloc(1 << 20, 'x'));
  await new Promise(setImmediate);
  expect(pipe.runBytes).toBeLessThan(1 << 20);
  pipe.resume();
  await expect.poll(() => pipe.runBytes).toBe(1 << 20);
  await expect.poll(() => pipe.isHeldUp).toBe(false);
});

test('after a loss the run goes on to the mark of the twin, and the mark of the dead is ignored', async () => {
  const { pipe, marks, begin, markOf, send, text } = await startPipe();
  const lost = begin();
  await send(Buffer.concat([Buffer.from('last words'), markOf(lost).subarray(0, 7)]));
  const mark = marks.next();
  pipe.remark(mark);
  const complete = pipe.complete();
  await send(markOf(mark));
  await complete;
  expect(text().startsWith('last words')).toBe(true);
  expect(pipe.end()).toBe('last words'.length + 7);
});

test('a stream that closes is complete, now and later', async () => {
  const { pipe, far, begin, send, text } = await startPipe();
  begin();
  await send('the end');
  const complete = pipe.complete();
  far.end();
  await complete;
  await pipe.complete();
  expect(text()).toBe('the end');
  expect(pipe.end()).toBe(7);
});

test('without a run everything is complete', async () => {
  const { pipe } = await startPipe();
  await pipe.complete();
  expect(pipe.end()).toBe(0);
});
