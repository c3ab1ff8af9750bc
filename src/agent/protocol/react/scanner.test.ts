import assert from 'node:assert/strict';
import { test } from 'vitest';
import { Scanner, type ScannedText, type ReplySection } from './scanner.ts';

interface Scanned {
  readonly sections: readonly ReplySection[];
  readonly said: readonly ScannedText[];
  readonly isOver: boolean;
}

/** What comes of a reply in pieces of this length. */
function scan(reply: string, length: number): Scanned {
  const scanner = new Scanner();
  const said: ScannedText[] = [];
  for (let at = 0; at < reply.length; at += length) said.push(...scanner.feed(reply.slice(at, at + length)));
  said.push(...scanner.end());
  return { sections: scanner.sections, said, isOver: scanner.isOver };
}

/** Sections by label, the same however the reply is cut into pieces. */
function read(reply: string): Record<string, string>[] {
  const each = [1, 2, 7, 100_000].map((length) => scan(reply, length).sections);
  for (const sections of each) assert.deepEqual(sections, each[0]);
  return (each[0] ?? []).map(({ label, text }) => ({ [label]: text.trim() }));
}

function tokens(reply: string, length: number): string {
  return scan(reply, length)
    .said.flatMap((part) => ('token' in part ? [part.token] : []))
    .join('');
}

test('S-53 thought, action and input are told apart, in pieces of any length', () => {
  assert.deepEqual(read('Thought: I add.\nAction: code\nAction Input: print(1 + 1)'), [
    { thought: 'I add.' },
    { action: 'code' },
    { input: 'print(1 + 1)' },
  ]);
});

test('labels may be decorated, numbered, in any case, and the first thought needs none', () => {
  assert.deepEqual(read('I add.\n\n**Action:** code\n**Action Input:** print(1)'), [
    { thought: 'I add.' },
    { action: 'code' },
    { input: 'print(1)' },
  ]);
  assert.deepEqual(read('### Thought 1: hm\nACTION 1: code\naction input 1: x'), [
    { thought: 'hm' },
    { action: 'code' },
    { input: 'x' },
  ]);
  assert.deepEqual(read('- **Final Answer:** 42'), [{ answer: '42' }]);
});

test('an observation that the model made up ends the reply, and nothing after it counts', () => {
  const reply = 'Thought: a\nAction: code\nAction Input: print(1)\nObservation: 99\nThought: b\nFinal Answer: 99';
  assert.deepEqual(read(reply), [{ thought: 'a' }, { action: 'code' }, { input: 'print(1)' }]);
  assert.equal(scan(reply, 5).isOver, true);
  assert.equal(tokens(reply, 5), 'a');
});

test('one that comes before any action is no part of the thoughts', () => {
  const reply = 'Observation: 99 rows\nThought: a\nAction: code\nAction Input: x';
  assert.deepEqual(read(reply), [{ observation: '99 rows' }, { thought: 'a' }, { action: 'code' }, { input: 'x' }]);
  assert.equal(tokens(reply, 3), 'a');
});

test('one that is made up without any action ends the reply too, so that no answer rests on it', () => {
  const thought = [{ thought: 'a' }];
  assert.deepEqual(read('Thought: a\nObservation: 99\nThought: b\nFinal Answer: 99'), thought);
  assert.deepEqual(read('Thought: a\nAction Input: f()\nObservation: 99\nFinal Answer: 99'), [
    ...thought,
    { input: 'f()' },
  ]);
  assert.deepEqual(read('Thought: a\nAction: None\nObservation: 99\nFinal Answer: 99'), [
    ...thought,
    { action: 'None' },
  ]);
});

test('of several actions only the first counts, and an answer after an action does not', () => {
  const first = [{ action: 'code' }, { input: 'x = 1' }];
  assert.deepEqual(read('Action: code\nAction Input: x = 1\nAction: code\nAction Input: print(x)'), first);
  assert.deepEqual(read('Action: code\nAction Input: x = 1\nThought: done\nFinal Answer: 1'), first);
  assert.deepEqual(read('Action: code\nAction Input: x = 1\nAction Input: x = 2'), first);
});

test('an answer goes on to the end, whatever its lines look like', () => {
  const answer = 'It rose.\nObservation: weekends are higher.\nAction: none needed.\n```\nThought: x\n```';
  assert.deepEqual(read(`Thought: done\nFinal Answer: ${answer}`), [{ thought: 'done' }, { answer }]);
});

test('what looks like a label in fenced code is code, and so is a comment', () => {
  const program = 'log = """\nObservation: 1\nFinal Answer: 2\n"""\nprint(log)\n';
  const [, fenced] = scan(`Action: code\nAction Input:\n\`\`\`python\n${program}\`\`\`\nObservation: 3`, 4).sections;
  assert.deepEqual(fenced?.block, { text: program, isClosed: true });
  const bare = '# Observation: a comment\n# Thought: another\n  Action: int = 1\nprint(1)';
  assert.deepEqual(read(`Action: code\nAction Input: ${bare}`), [{ action: 'code' }, { input: bare }]);
});

test('a fence may begin beside its label, be of another kind, and stay open', () => {
  const beside = scan('Action: code\nAction Input: ```python\nprint(1)\n```', 3).sections[1];
  assert.deepEqual(beside?.block, { text: 'print(1)\n', isClosed: true });
  const tildes = scan('Action: code\nAction Input:\n~~~\nprint("```")\n```\n~~~\n', 3).sections[1];
  assert.deepEqual(tildes?.block, { text: 'print("```")\n```\n', isClosed: true });
  const open = scan('Action: code\nAction Input:\n```python\nprint(1)\nObservation: 1', 3).sections[1];
  assert.deepEqual(open?.block, { text: 'print(1)\nObservation: 1', isClosed: false });
});

test('a fence round the whole reply is no part of it', () => {
  const expected = [{ thought: 'a' }, { action: 'code' }, { input: 'print(1)' }];
  assert.deepEqual(read('```\nThought: a\nAction: code\nAction Input: print(1)\n```'), expected);
  const [, , input] = scan('```\nThought: a\nAction: code\nAction Input:\n```python\nprint(1)\n```\n```', 6).sections;
  assert.deepEqual(input?.block, { text: 'print(1)\n', isClosed: true });
});

test('what a reasoning model mutters is not heard', () => {
  const reply =
    '\n<think>\nAction: code\nAction Input: evil()\nFinal Answer: 1\n</think>\n\nThought: a\nFinal Answer: 2';
  assert.deepEqual(read(reply), [{ thought: 'a' }, { answer: '2' }]);
  assert.equal(tokens(reply, 2), 'a2');
  assert.deepEqual(read('<think>Action: code'), []);
});

test('S-49 thoughts and answers are told as they come, without labels, code and space at their end', () => {
  const { said } = scan('Thought: I add\nthem.\nAction: code\nAction Input: 1', 8);
  assert.deepEqual(said.at(-1), { thought: 'I add\nthem.' });
  assert.equal(tokens('Thought: I add\nthem.\nAction: code\nAction Input: 1', 8), 'I add\nthem.');
  assert.equal(tokens('Thought: ok\nFinal Answer: It is\n 2.\n\n', 8), 'okIt is\n 2.');
  const live = new Scanner();
  assert.deepEqual(live.feed('Final Answer: It '), [{ token: 'It' }]);
  assert.deepEqual(live.feed('is '), [{ token: ' is' }]);
});

test('an endless line and endless space are read in time', () => {
  const startedAt = performance.now();
  const parts = ['*', ' ', '\n', '`', 'Action', 'Thought:\n', 'Thought: a\n```\n', 'Observation: a'];
  for (const reply of parts.map((part) => `Thought: a${part.repeat(100_000 / part.length)}`)) {
    scan(reply, 10);
    scan(reply, 100_000);
  }
  assert.ok(performance.now() - startedAt < 20_000); // in quadratic time it takes minutes
});
