import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ActionEvent } from './events.ts';
import { ToolInput } from './tool-input.ts';

test('SB-12 the input of a code tool is its code as a string, and its arguments as an object', () => {
  const {
    tool_input: input,
    toolInput,
    code,
  } = new ActionEvent('code_interpreter', { code: 'x = 1\nprint(x)', timeout: 5 });
  assert.equal(String(input), 'x = 1\nprint(x)');
  assert.equal(input.toString(), 'x = 1\nprint(x)');
  assert.equal(code, 'x = 1\nprint(x)');
  assert.equal(input['timeout'], 5);
  assert.equal(toolInput, input);
  assert.equal(JSON.stringify(input), '{"code":"x = 1\\nprint(x)","timeout":5}');
});

test('the input of any other tool is JSON as a string', () => {
  assert.equal(String(new ToolInput({ operation: 'list' })), '{"operation":"list"}');
  assert.equal(new ActionEvent('manage', { code: 7 }).code, undefined);
});

test('arguments cannot change what the object is', () => {
  const hostile = JSON.parse(
    '{"__proto__": {"polluted": 1}, "toString": "x", "codeText": "y", "code": "print(1)"}',
  ) as object;
  const input = new ToolInput({ ...hostile, ['__proto__']: { polluted: 1 } });
  assert.ok(input instanceof ToolInput);
  assert.equal(String(input), 'print(1)');
  assert.equal(input['polluted'], undefined);
  assert.match(JSON.stringify(input), /"toString":"x"/);
});

test('S-49 an action goes over the wire with the names of the seeds', () => {
  assert.deepEqual(JSON.parse(JSON.stringify(new ActionEvent('t', { code: 'c' }))), {
    type: 'action',
    tool: 't',
    tool_input: { code: 'c' },
  });
});
