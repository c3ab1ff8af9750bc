import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ParameterSchema, ToolDefinition } from '../../../tool/tool.ts';
import type { RequestedCall } from '../protocol.ts';
import { readMove, type WrittenMove } from './action.ts';
import { Scanner } from './scanner.ts';

function define(name: string, properties: ParameterSchema['properties'], required: string[]): ToolDefinition {
  return { name, description: '', parameters: { type: 'object', properties, required } };
}

const TEXT = { type: 'string', description: '' } as const;
const TOOLS = [
  define('code', { code: TEXT, timeout: { type: 'number', description: '' } }, ['code']),
  define('square', { n: { type: 'number', description: '' } }, ['n']),
  define('move', { source: TEXT, target: TEXT }, ['source', 'target']),
  define('list', {}, []),
];

function wish(reply: string, isCut = false): WrittenMove {
  const scanner = new Scanner();
  scanner.feed(reply);
  scanner.end();
  return readMove(scanner.sections, { tools: TOOLS, id: 'a', isCut });
}

function call(action: string, input?: string, isCut = false): RequestedCall {
  const read = wish(`Action: ${action}${input === undefined ? '' : `\nAction Input: ${input}`}`, isCut);
  return read !== undefined && 'call' in read ? read.call : assert.fail(`no call in ${JSON.stringify(read)}`);
}

test('S-53 input may be JSON, JSON over lines, a fence, ticks, a string, or code as it is', () => {
  const args = { code: 'x = 1\nprint(x)' };
  for (const input of [
    '{"code": "x = 1\\nprint(x)"}',
    '{\n  "code": "x = 1\\nprint(x)"\n}',
    '{"code": "x = 1\nprint(x)"}',
    '{"code": "x = 1\\nprint(x)"}\nI run it now.',
    '```json\n{"code": "x = 1\\nprint(x)"}\n```',
    '```python\nx = 1\nprint(x)\n```',
    '```\nx = 1\nprint(x)\n```\nThis adds one.',
    'Here it is:\n```py\nx = 1\nprint(x)\n```',
    '"x = 1\\nprint(x)"',
    'x = 1\nprint(x)',
  ]) {
    assert.deepEqual(call('code', input).args, args, input);
  }
  assert.deepEqual(call('code', '`print(1)`').args, { code: 'print(1)' });
  assert.deepEqual(call('code', '{1, 2, 3}').args, { code: '{1, 2, 3}' });
});

test('S-41 the name `input` is left to the tool, which knows it', () => {
  assert.deepEqual(call('code', '{"input": "print(1)"}').args, { input: 'print(1)' });
});

test('input for one argument that is no text is read as JSON, and one of several must be JSON', () => {
  assert.deepEqual(call('square', '12').args, { n: 12 });
  assert.deepEqual(call('square', 'twelve').args, { n: 'twelve' });
  assert.match(call('move', 'a to b').problem ?? '', /must be a JSON object with "source", "target"\. Nothing ran/);
  assert.deepEqual(call('move', '{"source": "a", "target": "b"}').args, { source: 'a', target: 'b' });
});

test('input that breaks off is never completed', () => {
  assert.match(call('code', '{"code": "print(1)').problem ?? '', /not valid JSON\. Nothing ran/);
  assert.match(call('code', "{'code': 'print(1)'}").problem ?? '', /not valid JSON/);
  assert.match(call('code', '```python\nprint(1)').problem ?? '', /fence is not closed/);
  assert.match(call('code', 'print(1', true).problem ?? '', /cut off at its maximum length/);
  assert.equal(call('code', '```python\nprint(1)\n```', true).problem, undefined);
  assert.match(call('code').problem ?? '', /is empty/);
  assert.deepEqual(call('list'), { id: 'a', name: 'list', args: {} });
});

test('names are freed of what models put round them', () => {
  for (const name of ['`code`', '"code"', '[code]', '**code**', 'code.', 'code()', ' code ']) {
    assert.equal(call(name, 'x').name, 'code', name);
  }
  assert.equal(call('bash', 'ls').name, 'bash');
  assert.deepEqual(call('bash', 'ls').args, { input: 'ls' });
});

test('action and input may come in one object', () => {
  const { name, args } = call('\n```json\n{"action": "code", "action_input": {"code": "print(1)"}}\n```');
  assert.deepEqual({ name, args }, { name: 'code', args: { code: 'print(1)' } });
  assert.deepEqual(call('{"action": "code", "action_input": "print(1)"}').args, { code: 'print(1)' });
});

test('U-52 finishing is an answer under each of its names, and no action is none', () => {
  assert.deepEqual(wish('Action: Final Answer\nAction Input: 42'), { answer: '42' });
  assert.deepEqual(wish('Action: Finish\nAction Input: 42'), { answer: '42' });
  assert.deepEqual(wish('Thought: ok\nAction: None\nFinal Answer: 42'), { answer: '42' });
  assert.equal(wish('Thought: ok\nAction: None needed'), undefined);
  assert.equal(wish('It is 42.'), undefined);
});
