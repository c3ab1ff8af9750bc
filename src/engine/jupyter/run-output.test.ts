import { expect, test } from 'vitest';
import type { Event } from '../../execution/event.ts';
import type { KernelMessage } from './kernel/message.ts';
import { RunOutput } from './run-output.ts';

const stream = (text: string, name: 'stdout' | 'stderr' = 'stdout'): KernelMessage => ({
  type: 'stream',
  parent: 'p',
  content: { name, text },
});

type Forms = Extract<KernelMessage, { type: 'display_data' }>['content'];
const display = (data: Forms['data'], metadata: Forms['metadata'] = {}): KernelMessage => ({
  type: 'display_data',
  parent: 'p',
  content: { data, metadata },
});

function collect(...messages: readonly KernelMessage[]): { output: RunOutput; events: Event[] } {
  const events: Event[] = [];
  const output = new RunOutput(
    (event) => void events.push(event),
    () => expect.unreachable(),
  );
  for (const message of messages) output.add(message);
  return { output, events };
}

test('text is passed on and counted in bytes, each stream apart', () => {
  const { output, events } = collect(stream('ż'), stream('oh', 'stderr'), stream('b'));
  expect(events).toEqual([
    { type: 'output', stream: 'stdout', text: 'ż' },
    { type: 'output', stream: 'stderr', text: 'oh' },
    { type: 'output', stream: 'stdout', text: 'b' },
  ]);
  expect([output.outputBytes, output.dropped]).toEqual([{ stdout: 3, stderr: 2 }, null]);
});

test('forms that are not text become JSON, and there is always plain text', () => {
  const { events } = collect(display({ 'application/json': { a: [1] }, 'text/html': '<b>' }));
  const data = { 'text/plain': '', 'application/json': '{"a":[1]}', 'text/html': '<b>' };
  expect(events).toEqual([{ type: 'result', result: { kind: 'display', data } }]);
});

test('what our code in the kernel says of a figure is passed on without its nulls', () => {
  const about = { kind: 'figure', chart: { type: 'line' }, title: null, picture: 2 };
  const { events } = collect(display({ 'text/plain': 'x' }, { vivarium: about }));
  const result = { kind: 'figure', data: { 'text/plain': 'x' }, chart: { type: 'line' } };
  expect(events).toEqual([{ type: 'result', result, picture: 2 }]);
});

test.for([
  { kind: 'other', chart: null, title: null, picture: null },
  { kind: 'figure', chart: null, title: 'x'.repeat(1001), picture: null },
  { kind: 'figure', chart: null, title: null, picture: 0 },
  { kind: 'figure' },
  'text',
])('metadata that is forged wrongly is ignored: %j', (vivarium) => {
  const { events } = collect(display({ 'text/plain': 'x' }, { vivarium }));
  expect(events).toEqual([{ type: 'result', result: { kind: 'display', data: { 'text/plain': 'x' } } }]);
});

test('a picture of the notebook backend of matplotlib is a figure, and other pictures are not', () => {
  const kinds = ['<Figure size 640x480>', 'an image'].map((plain) => {
    const [event] = collect(display({ 'image/png': 'iVBO', 'text/plain': plain })).events;
    return event?.type === 'result' ? event.result.kind : undefined;
  });
  expect(kinds).toEqual(['figure', 'display']);
});

test('what is cleared is passed on, and messages about the kernel are not', () => {
  const { events } = collect(
    { type: 'clear_output', parent: 'p', content: { wait: false } },
    { type: 'status', parent: 'p', content: { execution_state: 'busy' } },
    { type: 'execute_input', parent: 'p', content: {} },
    { type: 'execute_reply', parent: 'p', content: { status: 'ok' } },
  );
  expect(events).toEqual([{ type: 'clear' }]);
});

test('the first reason why output is missing is the one that is reported', () => {
  const { output } = collect({ type: 'oversized', parent: null, content: 99 });
  output.miss('another reason');
  expect(output.dropped).toMatch(/^a message of 99 characters/);
});

test('the notice of a server that drops output counts only on stderr, at the start of a line', () => {
  const notice = 'IOPub data rate exceeded.\nThe server will stop';
  expect(collect(stream(notice, 'stderr')).output.dropped).toContain('iopub_data_rate_limit');
  expect(collect(stream(`x\n${notice}`, 'stderr')).output.dropped).toContain('iopub_data_rate_limit');
  expect(collect(stream(notice)).output.dropped).toBeNull();
  expect(collect(stream(`about ${notice}`, 'stderr')).output.dropped).toBeNull();
});

test('10,000 results are kept, and of more it is said that they were left out', () => {
  const { output, events } = collect();
  expect(events).toEqual([]);
  for (let count = 0; count < 10_000; count += 1) output.add(display({ 'text/plain': 'x' }));
  expect(output.dropped).toBeNull();
  output.add(display({ 'text/plain': 'x' }));
  expect(output.dropped).toMatch(/^results above 10000 or/);
});

test('results of 32 MB together are kept, and not a character more', () => {
  const { output, events } = collect(display({ 'text/plain': 'x'.repeat(32 << 20) }));
  expect([events.length, output.dropped]).toEqual([1, null]);
  output.add(display({ 'text/plain': 'x' }));
  expect(events).toHaveLength(1);
  expect(output.dropped).toContain(`${32 << 20} bytes were left out`);
});

test('results that were cleared do not count towards the limits', () => {
  const large = display({ 'text/html': 'x'.repeat(17 << 20) });
  const cleared: KernelMessage = { type: 'clear_output', parent: 'p', content: { wait: false } };
  const { output, events } = collect(large, cleared, large, cleared, large);
  expect(output.dropped).toBeNull();
  expect(events).toHaveLength(5);
  output.add(large);
  expect(output.dropped).toMatch(/results above 10000/);
});

test('with `wait`, output is cleared when something new comes', () => {
  const waiting: KernelMessage = { type: 'clear_output', parent: 'p', content: { wait: true } };
  const { output, events } = collect(display({ 'text/plain': 'old' }), waiting);
  expect(events).toHaveLength(1);
  output.add(stream('new'));
  output.add(waiting);
  expect(events.map(({ type }) => type)).toEqual(['result', 'clear', 'output']);
});
