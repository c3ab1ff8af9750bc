/** How the events of a run are printed. */
import { expect, test } from 'vitest';
import { showRun } from '../../src/cli/session/show.ts';
import type { Event, Summary } from '../../src/execution/event.ts';
import { Transcript } from '../../src/execution/transcript.ts';
import { CommandContext } from '../support/command-context.ts';

const SUMMARY = { id: 'e', sessionId: 's', outcome: { status: 'succeeded' }, durationMs: 1 } as unknown as Summary;
const DONE: Event = { type: 'done', summary: SUMMARY };

async function* eventsOf(...events: readonly Event[]): AsyncGenerator<Event> {
  yield* events;
}

test('output goes to its stream, results go to standard output', async () => {
  const context = new CommandContext();
  const summary = await showRun(
    eventsOf(
      { type: 'output', stream: 'stdout', text: 'a' },
      { type: 'output', stream: 'stderr', text: 'warning\n' },
      { type: 'output', stream: 'stdout', text: 'b\n' },
      { type: 'result', result: { kind: 'result', data: { 'text/plain': '42' } } },
      { type: 'result', result: { kind: 'figure', data: { 'image/png': 'AAAA' } } },
      DONE,
    ),
    context,
  );
  expect(summary).toBe(SUMMARY);
  expect([context.out.text, context.err.text]).toEqual(['ab\n42\n\n', 'warning\n']);
});

test('what a terminal cannot show is left out', async () => {
  const context = new CommandContext();
  const file = { path: 'a', sizeBytes: 1, mime: 'text/plain', change: 'created' } as const;
  await showRun(
    eventsOf(
      { type: 'output', stream: 'stdout', text: 'shown' },
      { type: 'clear' },
      { type: 'file', file },
      { type: 'figure', figure: { mime: 'image/png', sizeBytes: 1 } },
      DONE,
    ),
    context,
  );
  expect([context.out.text, context.err.text]).toEqual(['shown', '']);
});

test('colours end with the run, on both streams', async () => {
  const context = new CommandContext({ isTerminal: true });
  await showRun(
    eventsOf(
      { type: 'output', stream: 'stdout', text: '\u001B[31mred' },
      { type: 'output', stream: 'stderr', text: '\u001B[1mbold\u001B[2K' },
      { type: 'result', result: { kind: 'result', data: { 'text/plain': '\u001B]0;x\u0007' } } },
      DONE,
    ),
    context,
  );
  expect(context.out.text).toBe('\u001B[31mred\\u{1b}]0;x\\u{7}\n\u001B[0m');
  expect(context.err.text).toBe('\u001B[1mbold\\u{1b}[2K\u001B[0m');
});

test('a transcript gets every event', async () => {
  const transcript = new Transcript(10_000);
  const events = eventsOf(
    { type: 'output', stream: 'stdout', text: 'hi' },
    { type: 'result', result: { kind: 'result', data: { 'text/plain': '1' } } },
    DONE,
  );
  await showRun(events, new CommandContext(), transcript);
  const { logs, results } = transcript.execution();
  expect([logs.stdout, results.length]).toEqual(['hi', 1]);
});

test('a stream without an end is a bug, and what it said is not lost', async () => {
  const context = new CommandContext();
  await expect(showRun(eventsOf({ type: 'output', stream: 'stdout', text: 'half' }), context)).rejects.toThrow(
    'an event stream ended without `done`',
  );
  expect(context.out.text).toBe('half');
});

test('a slow terminal slows the program down', async () => {
  const context = new CommandContext({ highWaterMark: 1 });
  const releases: (() => void)[] = [];
  context.out.hold = (done) => releases.push(done);
  let asked = 0;
  const events = async function* (): AsyncGenerator<Event> {
    for (const text of ['one', 'two']) {
      asked += 1;
      yield { type: 'output', stream: 'stdout', text };
    }
    yield DONE;
  };
  const shown = showRun(events(), context);
  while (releases.length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect([asked, context.out.text]).toEqual([1, 'one']);
  context.out.hold = undefined;
  releases[0]?.();
  await shown;
  expect([asked, context.out.text]).toEqual([2, 'onetwo']);
});
