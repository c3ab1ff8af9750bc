import assert from 'node:assert/strict';
import { test } from 'vitest';
import { AgentMemory, AgentStep } from './memory.ts';
import { ToolInput } from './tool-input.ts';

function step(observation: string, thought = ''): AgentStep {
  return new AgentStep({ thought, action: 'run', actionInput: new ToolInput({ code: '1' }), observation });
}

test('S-50 the memory keeps the newest steps and says when it is full', () => {
  const memory = new AgentMemory(2);
  assert.equal(memory.length, 0);
  assert.equal(memory.isFull, false);
  for (const name of ['a', 'b', 'c']) memory.addStep(step(name));
  assert.equal(memory.isFull, true);
  assert.deepEqual(
    memory.steps.map(({ observation }) => observation),
    ['b', 'c'],
  );
  memory.clear();
  assert.equal(memory.length, 0);
});

test('S-50 the scratchpad tells each step', () => {
  const memory = new AgentMemory(5);
  memory.addStep(step('1', 'I add'));
  memory.addStep(step('2'));
  assert.equal(
    memory.formatScratchpad(),
    'Thought: I add\nAction: run\nAction Input: {"code":"1"}\nObservation: 1\nAction: run\nAction Input: {"code":"1"}\nObservation: 2',
  );
});
