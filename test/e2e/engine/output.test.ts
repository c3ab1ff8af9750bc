/** What a program prints: everything is counted, a bounded part is kept, and nothing ends up in another run. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Event, Summary } from '../../../src/execution/event.ts';
import { Laboratory } from './laboratory.ts';

const MEBIBYTE = 1 << 20;

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await Laboratory.start();
});
afterAll(() => laboratory?.close());

test('a million printed lines are counted, and their head and tail kept', async () => {
  await using subject = await laboratory.open();
  const execution = await subject.run('for i in range(1_000_000): print(i)');
  expect(execution.outcome.status).toBe('succeeded');
  expect(execution.logs.stdout).toMatch(/^0\n1\n2\n[^]*… \d+ bytes of output omitted …\n[^]*\n999998\n999999\n$/);
  expect(execution.truncated?.stdout?.totalBytes).toBe(6_888_890);
  expect(execution.truncated?.stdout?.keptBytes).toBeLessThanOrEqual(MEBIBYTE);
});

test('both streams are told in the order of the program, in one run after the other', async () => {
  await using subject = await laboratory.open();
  const lines = Array.from({ length: 100 }, (_, line) => line);
  for (let run = 0; run < 5; run += 1) {
    const { transcript } = await subject.run(
      'import sys\nfor i in range(100): print(i, file=sys.stderr if i % 3 else sys.stdout)',
    );
    const texts = transcript.map((entry) => (entry.type === 'text' ? entry.text : ''));
    expect(texts.join('')).toBe(lines.map((line) => `${line}\n`).join(''));
  }
});

test('a print of 500 MB is counted without being held in memory', async () => {
  await using subject = await laboratory.open();
  const memory = watchMemory();
  const execution = await subject.run('chunk = "x" * 1_000_000\nfor _ in range(500): print(chunk, end="")');
  expect(memory.growthMb()).toBeLessThan(150);
  expect(execution.truncated?.stdout?.totalBytes).toBe(500_000_000);
  expect(execution.logs.stdout.length).toBeLessThan(1.1 * MEBIBYTE);
});

test('one string of 300 MB is printed like any other', async () => {
  await using subject = await laboratory.open();
  const memory = watchMemory();
  const execution = await subject.run('print("y" * 300_000_000)');
  expect(memory.growthMb()).toBeLessThan(150);
  expect(execution.truncated?.stdout?.totalBytes).toBe(300_000_001);
});

test('output without a newline, and to both streams, comes through as it was written', async () => {
  await using subject = await laboratory.open();
  const execution = await subject.run('import sys\nprint("no newline", end="")\nsys.stderr.write("nor here")');
  expect(execution.logs).toEqual({ stdout: 'no newline', stderr: 'nor here' });
});

test('bytes that are no text become replacement characters, and are counted as the bytes they were', async () => {
  await using subject = await laboratory.open();
  const events = await collect(subject.stream('import os; os.write(1, bytes(range(256)))'));
  const text = textOf(events, 'stdout');
  expect(text.slice(0, 128)).toBe(String.fromCodePoint(...Array.from({ length: 128 }, (_, code) => code)));
  expect(text.slice(128)).toMatch(/^\u{FFFD}+$/u);
  expect(summaryOf(events).outputBytes).toEqual({ stdout: 256, stderr: 0 });
  expect((await subject.run('print("fine")')).logs.stdout).toBe('fine\n');
});

test('a character that is written byte by byte arrives whole', async () => {
  await using subject = await laboratory.open();
  const code = 'import os, time\nfor byte in "żółć 🐍".encode(): os.write(1, bytes([byte])); time.sleep(0.005)';
  expect((await subject.run(code)).logs.stdout).toBe('żółć 🐍');
});

test('the first line is there before the program ends', async () => {
  await using subject = await laboratory.open();
  const code = 'import os, time\nprint("first")\nwhile not os.path.exists("go"): time.sleep(0.005)\nprint("last")';
  const events = subject.stream(code);
  expect(await events.next()).toMatchObject({ value: { type: 'output', stream: 'stdout', text: 'first\n' } });
  await writeFile(path.join(subject.session.workspace.path, 'go'), '');
  expect(textOf(await collect(events), 'stdout')).toBe('last\n');
});

test('what other programs print belongs to the run that started them, in order', async () => {
  await using subject = await laboratory.open();
  const execution = await subject.run('import os\nprint("one")\nos.system("echo two; echo three >&2")\nprint("four")');
  expect(execution.logs).toEqual({ stdout: 'one\ntwo\nfour\n', stderr: 'three\n' });
});

test('a child that outlives its run is counted, and mixed into no other run', async () => {
  await using subject = await laboratory.open();
  const code = 'import subprocess; child = subprocess.Popen(["/bin/sh", "-c", "sleep 0.2; echo late; echo error >&2"])';
  expect((await subject.run(code)).logs).toEqual({ stdout: '', stderr: '' });
  await expect.poll(() => subject.evaluate('child.poll()'), { interval: 20 }).toBe('0');
  await sleep(50);
  const next = await subject.run('print("mine")');
  expect(next.logs).toEqual({ stdout: 'mine\n', stderr: '' });
});

test('what a left-over child prints between runs is told in numbers by the next result', async () => {
  await using subject = await laboratory.open();
  await subject.run(
    'import subprocess; subprocess.Popen(["/bin/sh", "-c", "sleep 0.1; echo late; echo error >&2"]); None',
  );
  await sleep(300);
  const next = await subject.run('print("mine")');
  expect(next).toMatchObject({ logs: { stdout: 'mine\n', stderr: '' }, background: { stdout: 5, stderr: 6 } });
  expect(await subject.run('1')).not.toHaveProperty('background');
});

test('a consumer that takes its time gets everything, and slows the program down instead of filling memory', async () => {
  await using subject = await laboratory.open();
  const memory = watchMemory();
  const pauses: number[] = [];
  let received = 0;
  let last: Event | undefined;
  for await (const event of subject.stream(
    'for i in range(60): print(str(i % 10) * 1_000_000, flush=True)\nprint("end")',
  )) {
    if (pauses.length < 2) {
      await sleep(1500); // longer than the engine waits for the end of output
      pauses.push(memory.growthMb());
    }
    if (event.type === 'output') received += event.text.length;
    last = event;
  }
  expect(Math.max(...pauses)).toBeLessThan(40); // of the 60 that it has to print
  expect(received).toBe(60 * 1_000_001 + 4);
  expect(summaryOf([last])).toMatchObject({ outcome: { status: 'succeeded' }, outputBytes: { stdout: received } });
  const next = await subject.run('1');
  expect(next.state.status).toBe('preserved');
  expect(next).not.toHaveProperty('background');
});

test('the end of the output reaches a consumer that was slow from the start', async () => {
  await using subject = await laboratory.open();
  for (const size of [1_100_000, 1_200_000, 1_300_000, 2_000_000]) {
    const events = subject.stream(`print("z" * ${size}, end="")`);
    const first = await events.next();
    await sleep(200);
    const rest = await collect(events);
    expect(textOf([first.value as Event, ...rest], 'stdout').length).toBe(size);
  }
});

test('leaving the stream stops the program, and the session lives on', async () => {
  await using subject = await laboratory.open();
  await subject.run('x = 41');
  for await (const event of subject.stream('n = 0\nwhile True: n += 1; print("x" * 1000)')) {
    expect(event.type).toBe('output');
    break;
  }
  const next = await subject.run('print(x + 1)');
  expect(next).toMatchObject({ logs: { stdout: '42\n' }, state: { status: 'preserved', generation: 1 } });
});

test('leaving the stream of a program that ignores it costs that run alone', async () => {
  await using subject = await laboratory.open({ graceMs: 100 });
  await subject.run('x = 41');
  const memory = watchMemory();
  const deaf = 'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: print("x" * 100_000)';
  for await (const _ of subject.stream(deaf)) break;
  expect(memory.growthMb()).toBeLessThan(100);
  const next = await subject.run('print(x + 1)');
  expect(next).toMatchObject({ logs: { stdout: '42\n' } });
});

test('an interrupt from inside the loop over the events is no deadlock', async () => {
  await using subject = await laboratory.open({ graceMs: 200 });
  const events: Event[] = [];
  for await (const event of subject.stream('while True: print("x" * 1_000_000)')) {
    if (events.length === 1) {
      await sleep(100);
      await subject.session.interrupt();
    }
    events.push(event);
  }
  expect(summaryOf(events)).toMatchObject({ outcome: { status: 'cancelled' }, state: { status: 'preserved' } });
});

test('closing a session in the middle of its output ends the stream', async () => {
  await using subject = await laboratory.open();
  const events = subject.stream('while True: print("x" * 1_000_000)');
  await events.next();
  await sleep(50);
  await subject.session.close();
  expect(summaryOf(await collect(events)).outcome.status).toBe('cancelled');
});

/** The growth of resident memory from now on, in megabytes. */
function watchMemory(): { growthMb(): number } {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 20).unref();
  return {
    growthMb: () => {
      clearInterval(timer);
      return (Math.max(most, process.memoryUsage.rss()) - before) / MEBIBYTE;
    },
  };
}

async function collect(events: AsyncIterable<Event>): Promise<Event[]> {
  return Array.fromAsync(events);
}

function textOf(events: readonly Event[], stream: 'stdout' | 'stderr'): string {
  return events.map((event) => (event.type === 'output' && event.stream === stream ? event.text : '')).join('');
}

function summaryOf(events: readonly (Event | undefined)[]): Summary {
  const last = events.at(-1);
  if (last?.type !== 'done') throw new TypeError('a stream that did not end in `done`');
  return last.summary;
}
