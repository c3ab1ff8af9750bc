import { expect, test } from 'vitest';
import type { Outcome } from '../execution/outcome.ts';
import type { TranscriptItem } from '../execution/transcript.ts';
import { toNotebook, type ExportOptions } from './export.ts';
import { RunHistory, type RecordEnd, type RunStart } from './history.ts';
import type { Cell, Notebook } from './nbformat.ts';

const OPTIONS: ExportOptions = { pythonVersion: '3.12.1' };
const PNG: TranscriptItem = {
  type: 'result',
  result: { kind: 'figure', data: { 'text/plain': 'F', 'image/png': 'AA' } },
};

interface FinishedEntry extends Partial<RunStart> {
  readonly outcome?: Outcome;
  readonly error?: NonNullable<RecordEnd['error']>;
  readonly outputs?: readonly TranscriptItem[];
}

function run(history: RunHistory, code: string, ran: FinishedEntry = {}): void {
  const { outcome = { status: 'succeeded' }, error, outputs = [], ...start } = ran;
  const state = { status: 'preserved', generation: 1, variables: { added: [], changed: [], removed: [] } } as const;
  const end = history.begin({ code, echo: 'last', kind: 'run', ...start });
  end(outputs, { outcome, state, durationMs: 1500, mayHaveWritten: true, ...(error && { error }) });
}

const kindsOf = ({ cells }: Notebook): string[] => cells.map(({ cell_type, id }) => `${cell_type} ${id}`);
const textOf = (cell: Cell | undefined): string => cell?.source.join('') ?? '';

test('a session that ran nothing is an empty notebook', () => {
  expect(toNotebook(new RunHistory(), OPTIONS).cells).toEqual([]);
});

test('runs are cells with their number and time; a setup cell comes first', () => {
  const history = new RunHistory();
  run(history, 'x = 1', { startedAt: new Date('2026-01-02T03:04:05.000Z') });
  run(history, 'x', { outputs: [{ type: 'result', result: { kind: 'result', data: { 'text/plain': '1' } } }] });
  const notebook = toNotebook(history, { ...OPTIONS, title: 'My *session*\n<b>' });
  expect(kindsOf(notebook)).toEqual(['markdown title', 'code setup', 'code run-1', 'code run-2']);
  expect(textOf(notebook.cells[0])).toBe(String.raw`# My \*session\* \<b\>`);
  expect(notebook.cells[2]).toMatchObject({
    execution_count: 1,
    metadata: {
      execution: {
        'iopub.execute_input': '2026-01-02T03:04:05.000Z',
        'shell.execute_reply': '2026-01-02T03:04:06.500Z',
      },
    },
  });
  expect(notebook.cells[3]).toMatchObject({ outputs: [{ output_type: 'execute_result', execution_count: 2 }] });
  expect(toNotebook(history, { ...OPTIONS, title: 'My *session*\n<b>' })).toEqual(notebook);
});

test('what raised, or ends the cell by an exit, lets the notebook go on', () => {
  const history = new RunHistory();
  run(history, '1/0', { outcome: { status: 'raised' }, error: { name: 'Z', value: 'v', traceback: 't' } });
  run(history, 'import sys; sys.exit()');
  run(history, 'x = 1');
  const tags = toNotebook(history, OPTIONS).cells.map(({ metadata }) => metadata.tags);
  expect(tags).toEqual([['vivarium-setup'], ['raises-exception'], ['raises-exception'], undefined]);
});

test('the way of showing expressions is changed where it changes, and not for assignments', () => {
  const history = new RunHistory();
  run(history, 'a');
  run(history, 'b = 1', { echo: 'none', kind: 'variables' });
  run(history, 'c');
  expect(kindsOf(toNotebook(history, OPTIONS))).toEqual(['code setup', 'code run-1', 'code run-2', 'code run-3']);
  run(history, 'd', { echo: 'all' });
  run(history, 'e', { echo: 'all' });
  run(history, 'f', { echo: 'none' });
  const notebook = toNotebook(history, OPTIONS);
  expect(kindsOf(notebook).slice(4)).toEqual(['code echo-4', 'code run-4', 'code run-5', 'code echo-6', 'code run-6']);
  expect(textOf(notebook.cells[4])).toBe('_echo("all")');
});

test('the setup does no more than the code can need', () => {
  const history = new RunHistory();
  run(history, 'x = 1');
  expect(textOf(toNotebook(history, OPTIONS).cells[0])).not.toMatch(/matplotlib|asyncio|exit|_echo/);
  run(history, 'import asyncio\nmatplotlib.use("Agg")\nquit()');
  const setup = textOf(toNotebook(history, OPTIONS).cells[0]);
  for (const word of ['matplotlib', 'asyncio', 'SystemExit']) expect(setup).toContain(word);
});

test('what must not run again is text that shows its code, its output and its figures', () => {
  const history = new RunHistory();
  const outcome: Outcome = { status: 'crashed', signal: null, exitCode: 3, reason: 'it ended <b>by</b> itself' };
  run(history, 'print("```")', { outcome, outputs: [{ type: 'text', stream: 'stdout', text: '```\n' }, PNG] });
  const notebook = toNotebook(history, OPTIONS);
  expect(kindsOf(notebook)).toEqual(['markdown run-1']);
  expect(textOf(notebook.cells[0])).toBe(
    [
      String.raw`**Run 1 is not repeated here: it crashed: it ended \<b\>by\</b\> itself.** ` +
        'What it had changed by then stayed in the session, and later cells may need it.',
      '````python\nprint("```")\n````',
      '````\n```\n````',
      '![figure-1.png](attachment:figure-1.png)',
    ].join('\n\n'),
  );
  expect(notebook.cells[0]).toMatchObject({ attachments: { 'figure-1.png': { 'image/png': 'AA' } } });
});

test('a title hides nothing and gives no orders', () => {
  const history = new RunHistory();
  run(history, 'x');
  const [title] = toNotebook(history, { ...OPTIONS, title: 'a\u202Eb\u001B[2J\u0085c' }).cells;
  expect(textOf(title)).toBe(String.raw`# a\\u{202e}b\\u{1b}\[2J\\u{85}c`);
});

test('nothing that must not run again can move the cursor of a terminal that prints the notebook', () => {
  const history = new RunHistory();
  const evil = '\u001B[2Jgone\u001B]0;title\u0007\u202Etxt';
  const outcome: Outcome = { status: 'timed-out', limit: 'wall', limitMs: 5 };
  const error = { name: 'E', value: evil, traceback: `Traceback ${evil}` };
  const outputs: TranscriptItem[] = [
    { type: 'text', stream: 'stdout', text: evil },
    { type: 'result', result: { kind: 'display', data: { 'text/plain': evil } } },
  ];
  run(history, `x = "${evil}"`, { outcome, outputs, error });
  const text = textOf(toNotebook(history, OPTIONS).cells[0]);
  // oxlint-disable-next-line no-control-regex
  expect(text).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/u);
  expect(text.match(/gone\\u\{202e\}txt/gu)).toHaveLength(3);
  expect(text).toContain(String.raw`x = "\u{1b}[2Jgone`);
});

test('every way of being stopped is told', () => {
  const history = new RunHistory();
  run(history, 'a', { outcome: { status: 'timed-out', limit: 'cpu', limitMs: 5 } });
  run(history, 'b', { outcome: { status: 'cancelled' } });
  run(history, 'c', { outcome: { status: 'out-of-memory', limitMb: 64 } });
  history.begin({ code: 'd', echo: 'last', kind: 'run' });
  const reasons = toNotebook(history, OPTIONS).cells.map((cell) => /here: (.*)\.\*\*/.exec(textOf(cell))?.[1]);
  expect(reasons).toEqual([
    'it timed out after 5 ms of processor time',
    'it was cancelled',
    'it ran out of memory: the limit is 64 MB',
    'how it ended is not known',
  ]);
});

test('the past is raw text, and only on request', () => {
  const history = new RunHistory();
  run(history, 'a');
  history.restart('it was [reset]');
  run(history, 'b');
  history.undo();
  run(history, 'c');
  expect(kindsOf(toNotebook(history, OPTIONS))).toEqual(['markdown notes', 'code setup', 'code run-3']);
  const notebook = toNotebook(history, { ...OPTIONS, includePast: true });
  expect(kindsOf(notebook)).toEqual(['markdown notes', 'code setup', 'raw run-1', 'raw run-2', 'code run-3']);
  expect(textOf(notebook.cells[0])).toContain(String.raw`began with a fresh interpreter: it was \[reset\].`);
  expect(textOf(notebook.cells[2])).toBe('# Run 1, whose state is gone:\na');
});

test('what did not fit is told in numbers', () => {
  const history = new RunHistory({ maxRuns: 2, maxBytes: 20 });
  run(history, 'a');
  run(history, 'b', { outputs: [{ type: 'text', stream: 'stdout', text: 'x'.repeat(50) }] });
  run(history, 'c');
  const [notes] = toNotebook(history, OPTIONS).cells;
  expect(textOf(notes)).toBe(
    '* The oldest run did not fit. Later cells may need what is missing.\n' +
      '* Outputs of 50 bytes did not fit (runs 2). Run the notebook to recreate them.',
  );
});

test('comments above an indented block are indented with it, and nothing else is changed', () => {
  const history = new RunHistory();
  run(history, '# c\n\n  # d\n    x = 1\n# e\n    x');
  run(history, '  # c\nx = 1');
  const [, first, second] = toNotebook(history, OPTIONS).cells.map(textOf);
  expect(first).toBe('    # c\n\n    # d\n    x = 1\n# e\n    x');
  expect(second).toBe('  # c\nx = 1');
});
